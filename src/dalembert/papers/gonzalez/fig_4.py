"""Figure 4: the error of the fourth particle at t = 0.1 against the step size."""

import numpy as np

import dalembert as da

from ...diagnostics import reference_solution
from ...gallery.springs_and_bars import FourParticles
from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER
from .methods import METHODS, SETUP

COUNTS = (10, 20, 40, 80, 160)
MORE = r"""
Relative error of the position of the fourth particle at $T = 0.1$, and of momenta and multipliers, against the solution
of the underlying differential equation. (A reference with $\Delta t = 10^{-5}$ of the scheme itself is useless for the
multipliers, whose roundoff grows like $\epsilon / \Delta t^2$.) The multiplier of a step belongs to its middle.
"""


def run(quick: bool) -> Result:
    system = FourParticles()
    start, end = system.start(), 0.1
    target = reference_solution(system, start.q0, start.v0, (0.0, end))
    middles = reference_solution(
        system, start.q0, start.v0, (0.0, end), times=[end - end / n / 2 for n in COUNTS]
    ).lam  # fmt: skip
    columns: dict[str, list[float]] = {"step": [end / n for n in COUNTS]}
    orders = {}
    for name, method in METHODS.items():
        errors = []
        for count, middle in zip(COUNTS, np.asarray(middles), strict=True):
            one = da.simulate(system, method, start.q0, start.v0, t=(0.0, end), h=end / count)
            lam = np.asarray(target.lam) if method.velocity_level else middle
            errors.append(
                [_relative(one.q[-1][9:], target.q[9:]), _relative(one.p[-1], target.p), _relative(one.lam[-1], lam)]
            )
        for key, values in zip(("q4", "p", "lam"), np.array(errors).T, strict=True):
            columns[f"{name}: {key}"] = values.tolist()
            orders[name, key] = float(np.polyfit(np.log(columns["step"][-3:]), np.log(values[-3:]), 1)[0])
    claims = [
        judged(
            all(abs(orders[name, "q4"] - 2) < 0.2 for name in METHODS),
            "The scheme is second-order accurate in the positions.",
            ", ".join(f"{name}: {orders[name, 'q4']:.2f}" for name in METHODS),
        ),
        judged(
            all(
                abs(orders[name, key] - 2) < 0.2
                for name in ("invariant", "invariant, velocity level")
                for key in ("p", "lam")
            ),
            "Momenta and multipliers do not suffer from order reduction (the paper leaves this open).",
            ", ".join(
                f"{letter} of {name}: {orders[name, key]:.2f}"
                for name in METHODS
                for key, letter in (("p", "p"), ("lam", "λ"))
            ),
            note="Both are of second order, the multiplier at the middle of the step.",
        ),
    ]
    return Result({"errors": columns}, claims)


def _relative(found, exact) -> float:
    return float(np.linalg.norm(np.asarray(found) - np.asarray(exact)) / np.linalg.norm(np.asarray(exact)))


def draw(result: Result):
    data = result.data["errors"]
    h = np.asarray(data["step"])
    with style():
        figure = new_figure(7.6, 4.6, ".")
        axes = figure.add_subplot()
        for k, key in enumerate(("q4", "p", "lam")):
            label = {"q4": "$q_4$", "p": "$p$", "lam": r"$\lambda$, at the middle"}[key]
            axes.loglog(h, np.asarray(data[f"invariant: {key}"]), marker="os^"[k], color=PALETTE[k], label=label)
        axes.loglog(
            h, np.asarray(data["invariant: q4"])[-1] * (h / h[-1]) ** 2 / 3, color=GREY, linewidth=1, label="slope 2"
        )
        axes.set_xlabel(r"$\Delta t$")
        axes.set_ylabel("relative error at $T = 0.1$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


EXPERIMENT = Experiment(
    name="gonzalez-fig-4",
    paper=PAPER,
    title="Relative error against the step size",
    setup=SETUP + MORE,
    run=run,
    draw=draw,
)
