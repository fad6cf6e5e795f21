"""Any quantity of a run against time: `run.plot("q", "energy")`."""

from __future__ import annotations

import difflib
import os
import pathlib
from collections.abc import Callable

import numpy as np

from ..arguments import shown
from ..errors import InputError
from ..trajectory import has_energy
from .series import (
    MOST_NAMED,
    draw_constraints,
    draw_coordinates,
    draw_energy,
    draw_family,
    draw_gaps,
    draw_invariants,
    draw_multipliers,
    draw_reactions,
    legend_above,
    scaled_label,
    time_axis,
)
from .style import FIGURE_TYPES

#: Quantities that are drawn in a way of their own; all others are curves.
_DRAWN: dict[str, Callable] = {
    "q": draw_coordinates,
    "constraint": draw_constraints,
    "lam": draw_multipliers,
    "psi": draw_reactions,
    "gap": draw_gaps,
    "invariants": draw_invariants,
}
_CURVES = ("v", "p", "hidden", "impulse", "energy", "energy error")


def split_arguments(arguments: tuple, path) -> tuple[list[str], str | os.PathLike | None]:
    """The quantities, and where to save the figure: a file has a suffix of figures, a quantity has none."""
    names: list[str] = []
    for argument in arguments:
        if argument is None:
            continue
        is_text = isinstance(argument, str)
        if is_text and pathlib.Path(argument).suffix.lower() not in FIGURE_TYPES and "/" not in argument:
            names.append(argument)
        elif path is not None or not isinstance(argument, str | os.PathLike):
            raise InputError(
                f"plot expects names of quantities and one path, got {shown(arguments)} and {shown(path)}."
            )
        else:
            path = argument
    return names, path


def known_quantities(run) -> list[str]:
    """What can be drawn of a run, by name."""
    sizes = {"lam": np.shape(run.lam)[-1], "psi": np.shape(run.psi)[-1], "impulse": np.size(run.impulse)}
    sizes |= {"gap": sizes["impulse"], "invariants": len(run.invariants), "energy": has_energy(run)}
    sizes["energy error"] = sizes["energy"]
    sizes["constraint"] = sizes["hidden"] = sizes["lam"] + sizes["psi"]
    names = [name for name in ("q", *_CURVES, *_DRAWN) if sizes.get(name, 1)]
    return [*dict.fromkeys(names), *run.invariants]


def drawing_of(run, name: str) -> Callable:
    """What draws a quantity on given axes."""
    known = known_quantities(run)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"this run has no quantity {name!r}; it has {', '.join(known)}.{meant}")
    if name in run.invariants:
        return lambda axes, run: _draw_curves(axes, run, name, run.invariants[name])
    if name == "energy error":
        return draw_energy
    if name == "energy":
        return lambda axes, run: _draw_curves(axes, run, "E", run.energy)
    if name in _DRAWN:
        return _DRAWN[name]
    return lambda axes, run: _draw_curves(axes, run, name, getattr(run, name))


def _draw_curves(axes, run, name: str, values) -> None:
    values = np.asarray(values).reshape(len(run.t), -1)
    letter = name if len(name) == 1 else rf"\mathrm{{{name.replace('_', ' ').replace(' ', chr(92) + ' ')}}}"
    draw_family(axes, run.t, values, letter)
    scaled_label(axes, letter if values.shape[1] == 1 else f"{letter}_i")
    time_axis(axes, run)
    legend_above(axes, columns=MOST_NAMED)
