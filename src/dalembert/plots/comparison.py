"""Methods beside each other: work against precision, and energy errors over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import floats, named_values, shown
from ..diagnostics import Curve, WorkPrecision
from ..errors import InputError
from .series import draw_residuals
from .style import GREY, PALETTE, check_figure, new_figure, save_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "os^DvpX"


def plot_work_precision(curves: Sequence[Any] | WorkPrecision, path=None) -> Figure:
    """Wall time against the error at the end: of what `da.work_precision` returns, or a curve for each
    `diagnostics.Curve`; programs of others dashed."""
    check_figure(path)
    if isinstance(curves, WorkPrecision):
        found, none = curves, np.full(len(curves.hs), np.nan)
        curves = [
            Curve(name, False, found.hs, found.errors[k], found.seconds[k], none, none)
            for k, name in enumerate(found.methods)
        ]
    if not isinstance(curves, Sequence) or not all(isinstance(curve, Curve) for curve in curves):
        raise InputError(
            "curves must be a list of curves, as da.work_precision or diagnostics.compare returns them, got "
            f"{shown(curves)}."
        )
    with style():
        figure = new_figure(8.6, 5.0, path)
        axes = figure.add_subplot()
        for k, curve in enumerate(curves):
            good = np.isfinite(curve.errors) & (curve.errors > 0)
            axes.plot(
                curve.errors[good], 1e3 * curve.seconds[good], marker=MARKERS[k % len(MARKERS)],
                ls="--" if curve.is_foreign else "-", color=GREY if curve.is_foreign else PALETTE[k % len(PALETTE)],
                label=curve.name,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("error of $q$ at the end")
        axes.set_ylabel("milliseconds")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, path)
    return figure


def plot_energy_errors(t, errors: Mapping[str, Any], path=None) -> Figure:
    """|E(t) - E(0)| of several runs over the same times, on a logarithmic axis."""
    check_figure(path)
    t, errors = _times_and_errors(t, errors)
    with style():
        figure = new_figure(9.4, 5.0, path)
        axes = figure.add_subplot()
        draw_residuals(axes, t, errors)
        axes.set_xlim(t[0], t[-1])
        axes.set_xlabel("$t$")
        axes.set_ylabel(r"$|E(t) - E(0)|$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, path)
    return figure


def _times_and_errors(t, errors: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Both as arrays, one error for each time."""
    t = floats("t", t, finite=True)
    if t.ndim != 1 or not len(t):
        raise InputError(f"t must have shape (N,) with N >= 1, got {t.shape}.")
    return t, named_values("errors", errors, t.shape)
