"""What figures 4 and 5 share: errors of the position for event-capturing schemes of several orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import dalembert as da

from ...plots.series import label_few_decades
from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER
from .problems import END, PROBLEMS, SETUP, exact_q, fitted, simulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Errors below this are roundoff and take no part in a fit.
PLATEAU = 3e-13
#: Errors above this belong to steps too large for the motion.
COARSE = 5e-2


def errors_of(system, smooth, steps) -> np.ndarray:
    """Largest errors of the position over the grid."""
    errors = []
    for count in steps:
        run = simulated(system, da.EventCapturing(smooth=smooth), count)
        errors.append(np.max(np.abs(run.q[:, 0] - exact_q(system, run.t))))
    return np.array(errors)


def result_of(methods: dict, steps) -> Result:
    """Tables of errors by problem, and the order of each method on each problem; names end in the order."""
    h, data, claims = END / np.array(steps), {}, []
    for problem, system in PROBLEMS.items():
        table = {name: errors_of(system, smooth, steps) for name, smooth in methods.items()}
        data[problem] = {"h": h, **table}
        found, good = [], []
        for name, errors in table.items():
            usable = (errors > PLATEAU) & (errors < COARSE)
            if usable.sum() < 3:
                found.append(f"{name}: at roundoff, {errors.max():.1e}")
                good.append(errors.max() < 1e-9)
                continue
            slope = fitted(h[usable], errors[usable])
            found.append(f"{name}: {slope:.2f}")
            good.append(slope > int(name[-1]) - 0.25)
        claims.append(
            judged(
                all(good),
                f"On the {problem}, the global order is that of the Runge-Kutta method.",
                "slopes " + ", ".join(found),
                correction="With the algorithm completed: release, accumulation and the rate of the constraint's "
                "gradient are missing from the printed one (see the errata).",
            )
        )
    return Result(data, claims)


def draw_errors(result: Result) -> Figure:
    """Errors against h, one panel a problem."""
    from matplotlib.ticker import LogLocator

    with style():
        figure = new_figure(11.0, 5.2, ".")
        for number, (problem, data) in enumerate(result.data.items()):
            axes = figure.add_subplot(1, len(result.data), number + 1)
            names = [name for name in data if name != "h"]
            for colour, marker, name in zip(PALETTE, "os^vD", names, strict=False):
                errors = np.maximum(np.asarray(data[name]), 1e-17)
                axes.loglog(np.asarray(data["h"]), errors, marker + "-", color=colour, label=name, markersize=5)
            for order, errors in sorted({int(name[-1]): np.asarray(data[name]) for name in names}.items()):
                _slope(axes, np.asarray(data["h"]), errors, order)
            label_few_decades(axes.xaxis)
            axes.yaxis.set_major_locator(LogLocator(numticks=8))
            axes.set_title(problem.replace(" with", "\nwith"), fontsize=14)
            axes.set_xlabel("$h$")
            if number == 0:
                axes.set_ylabel(r"largest error of $q$")
        axes.plot([], [], color=GREY, linewidth=1, label="slopes of the orders")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _slope(axes, h: np.ndarray, errors: np.ndarray, order: int) -> None:
    """A line of the slope `order` beside the middle of a curve, with its number."""
    usable = np.flatnonzero((errors > PLATEAU) & (errors < COARSE))
    middle = usable[len(usable) // 2]
    ends = h[middle] * np.array([1.3, 1 / 1.3])
    line = 0.35 * errors[middle] * (ends / h[middle]) ** order
    axes.loglog(ends, line, color=GREY, linewidth=1)
    axes.annotate(
        str(order), (ends[0], line[0]), (3, -3), textcoords="offset points", va="top", fontsize=10, color=GREY
    )


def experiment(name: str, title: str, methods: dict, steps: tuple[int, ...]) -> Experiment:
    """The figure for these methods; the quick version takes every second number of steps."""
    return Experiment(
        name=name,
        paper=PAPER,
        title=title,
        setup=SETUP + " Impacts are located to $h^{p+1}$.",
        run=lambda quick: result_of(methods, steps[::2] if quick else steps),
        draw=draw_errors,
    )
