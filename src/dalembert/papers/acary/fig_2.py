"""Figure 2: the order of Moreau's scheme in four norms, through impacts and their accumulation."""

import numpy as np

import dalembert as da

from ...plots.series import label_few_decades
from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER
from .problems import END, PROBLEMS, SETUP, exact_graph, exact_q, exact_v, fitted, simulated

#: Primes, so that no impact falls on the grid at all step sizes.
STEPS = (401, 557, 809, 1151, 1601, 2213, 3203, 4507, 6421, 9001, 12697, 17939, 25423)
NORMS = ("uniform", "Hausdorff", "L2", "L1")
MARKERS = {"uniform": "x", "Hausdorff": "+", "L2": "*", "L1": "s"}
SHOWN = ("oscillator", "ball")


def errors_of(system, steps: int, graph) -> dict[str, float]:
    """Errors of the velocity in the four norms, and of the position in the uniform one."""
    run = simulated(system, da.MoreauJean(), steps)
    difference, h = run.v[:, 0] - exact_v(system, run.t), END / steps
    return {
        "uniform": float(np.max(np.abs(difference))),
        "Hausdorff": da.hausdorff_distance(run.t, run.v[:, 0], *graph),
        "L2": float(np.sqrt(h * np.sum(difference**2))),
        "L1": float(h * np.sum(np.abs(difference))),
        "position": float(np.max(np.abs(run.q[:, 0] - exact_q(system, run.t)))),
    }


def run(quick: bool) -> Result:
    steps = STEPS[:-2] if quick else STEPS
    h, data, claims = END / np.array(steps), {}, []
    for name in SHOWN:
        system = PROBLEMS[name]
        graph = exact_graph(system)
        rows = [errors_of(system, count, graph) for count in steps]
        table = {norm: np.array([row[norm] for row in rows]) for norm in (*NORMS, "position")}
        data[name] = {"h": h, **table}
        slopes = {norm: fitted(h, values) for norm, values in table.items()}
        measured = ", ".join(f"{norm}: {slope:.2f}" for norm, slope in slopes.items())
        claims.append(
            judged(
                abs(slopes["Hausdorff"] - 1) < 0.25 and abs(slopes["L1"] - 1) < 0.25,
                f"On the {name}, the empirical order of Moreau's scheme is near 1 in the Hausdorff norm and in L1.",
                f"slopes of the velocity's error {measured}",
            )
        )
        claims.append(
            judged(
                slopes["uniform"] < 0.2 and table["uniform"][-1] > 0.1,
                f"On the {name}, no convergence of the velocity in the uniform norm.",
                f"error {table['uniform'][-1]:.2g} with the smallest step, slope {slopes['uniform']:.2f}; the "
                f"positions converge with {slopes['position']:.2f}",
            )
        )
    return Result(data, claims)


def draw(result: Result):
    with style():
        figure = new_figure(8.4, 4.2, ".")
        for number, name in enumerate(SHOWN):
            data = result.data[name]
            axes = figure.add_subplot(1, 2, number + 1)
            h = np.asarray(data["h"])
            for colour, norm in zip(PALETTE, NORMS, strict=False):
                axes.loglog(h, np.asarray(data[norm]), MARKERS[norm] + "-", color=colour, label=norm, linewidth=0.8)
            axes.loglog(h, 0.5 * np.asarray(data["L1"])[-1] * h / h[-1], color=GREY, linewidth=1, label="slope 1")
            label_few_decades(axes.xaxis)
            axes.set_title(name)
            axes.set_xlabel("$h$")
            if number == 0:
                axes.set_ylabel("error of $v$")
            else:
                axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


EXPERIMENT = Experiment(
    name="acary-fig-2",
    paper=PAPER,
    title="Order of Moreau's scheme in four norms",
    setup=SETUP + " Moreau's scheme with $\\theta = \\gamma = 1/2$.",
    run=run,
    draw=draw,
)
