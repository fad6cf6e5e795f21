"""What figures 4 and 5 share: errors of the position for event-capturing schemes of several orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import dalembert as da

from ...plots.series import label_few_decades
from ...plots.style import PALETTE, new_figure, style
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
    with style():
        figure = new_figure(10.0, 4.2, ".")
        for number, (problem, data) in enumerate(result.data.items()):
            axes = figure.add_subplot(1, len(result.data), number + 1)
            names = [name for name in data if name != "h"]
            for colour, marker, name in zip(PALETTE, "os^vD", names, strict=False):
                errors = np.maximum(np.asarray(data[name]), 1e-17)
                axes.loglog(np.asarray(data["h"]), errors, marker + "-", color=colour, label=name, markersize=5)
            label_few_decades(axes.xaxis)
            axes.set_title(problem.replace(" with", "\nwith"), fontsize=14)
            axes.set_xlabel("$h$")
            if number == 0:
                axes.set_ylabel(r"largest error of $q$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def experiment(name: str, title: str, methods: dict, steps: tuple[int, ...]) -> Experiment:
    """The figure for these methods; the quick version takes the first four numbers of steps."""
    return Experiment(
        name=name,
        paper=PAPER,
        title=title,
        setup=SETUP + " Impacts are located to $h^{p+1}$.",
        run=lambda quick: result_of(methods, steps[:4] if quick else steps),
        draw=draw_errors,
    )
