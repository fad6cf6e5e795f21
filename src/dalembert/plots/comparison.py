"""Methods beside each other: work against precision, and energy errors over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .series import draw_residuals
from .style import FIGURE_TYPES, GREY, PALETTE, checked_target, new_figure, save_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "os^DvpX"


def plot_work_precision(curves: Sequence[Any], path=None) -> Figure:
    """Wall time against the error at the end, a curve for each `diagnostics.Curve`; programs of others dashed."""
    _check(path)
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
    _check(path)
    with style():
        figure = new_figure(9.4, 5.0, path)
        axes = figure.add_subplot()
        t = np.asarray(t)
        draw_residuals(axes, t, dict(errors))
        axes.set_xlim(t[0], t[-1])
        axes.set_xlabel("$t$")
        axes.set_ylabel(r"$|E(t) - E(0)|$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, path)
    return figure


def _check(path) -> None:
    if path is not None:
        checked_target(path, FIGURE_TYPES, "a figure")
