"""Energy errors over time: computed, judged for boundedness, drawn in panels one below the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..diagnostics import drift
from ..plots.series import scaled_label
from ..plots.style import PALETTE, new_figure, style
from ..trajectory import Trajectory
from .experiment import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A bounded error is not larger in the second half of the interval than in the first, but for this factor.
LATER_FACTOR = 1.2
#: The part of the largest error that a linear trend over the whole interval may make up.
TREND_PART = 0.2
#: Differences of energies below this many units of roundoff say nothing.
ROUNDOFF_UNITS = 200


@dataclass(frozen=True)
class EnergyError:
    """How large an energy error gets, and whether it stays so: `bounded`."""

    largest: float
    first_half: float
    second_half: float
    trend: float
    bounded: bool


def energy_errors(run: Trajectory) -> np.ndarray:
    """E(t) - E(0)."""
    energy = np.asarray(run.energy, dtype=np.float64)
    return energy - energy[0]


def judge_energy(t, errors, scale: float = 1.0) -> EnergyError:
    """Compare the halves of the interval, and fit a line; `scale` is the size of the energies subtracted."""
    size = np.abs(errors)
    middle = len(size) // 2
    first, second = float(np.max(size[:middle])), float(np.max(size[middle:]))
    trend = abs(drift(t, errors).slope) * float(t[-1] - t[0])
    roundoff = ROUNDOFF_UNITS * np.finfo(float).eps * scale
    bounded = second <= LATER_FACTOR * first + roundoff and trend <= TREND_PART * max(first, second) + roundoff
    return EnergyError(max(first, second), first, second, trend, bool(bounded))


def summary(found: Mapping[str, EnergyError]) -> Table:
    """A table with a row for every run."""
    return {
        "method": list(found),
        "largest": [one.largest for one in found.values()],
        "first half": [one.first_half for one in found.values()],
        "second half": [one.second_half for one in found.values()],
        "linear trend": [one.trend for one in found.values()],
    }


def draw_energy_panels(curves: Mapping[str, tuple[np.ndarray, np.ndarray]], columns: int = 1) -> Figure:
    """E(t) - E(0), one panel for each (t, errors), filled column by column; the panels share the time axis."""
    rows = -(-len(curves) // columns)
    with style():
        figure = new_figure(6.4 * columns, 1.1 + 1.75 * rows, ".")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True)
        for k, (title, (t, errors)) in enumerate(curves.items()):
            axes = grid[k % rows, k // rows]
            axes.plot(t, errors, color=PALETTE[(k % rows) % len(PALETTE)], linewidth=0.8)
            axes.set_title(title, loc="left", fontsize=13)
            axes.set_xlim(t[0], t[-1])
            axes.yaxis.get_major_locator().set_params(nbins=5, min_n_ticks=3)
            scaled_label(axes, "E - E_0")
            if k % rows == rows - 1:
                axes.set_xlabel("$t$")
    return figure
