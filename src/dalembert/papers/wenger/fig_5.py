"""Figure 5: Gauss against Lobatto quadrature of the Lagrangian, error against run time."""

import numpy as np

import dalembert as da

from ...gallery import Pendulum
from ...plots.style import new_figure, style
from ..experiment import CONFIRMED, REFUTED, Claim, Experiment, Result, judged
from . import PAPER
from .efficiency import SAVED, Costs, costs, draw_costs, rows
from .orders import RipplePendulum

SETUP = r"""
The pendulum of the figure before, with $s = w = 2$ and $s = w = 5$. A Gauss rule of order $2s$ has $s$ nodes, a
Lobatto rule of that order has $s + 1$; both give $q$ the order $2s$.

On the pendulum both rules integrate the Lagrangian exactly, so the two methods are one and the same; the program,
which simplifies the equations before it compiles them, may find that out. The right panel therefore has $V = 2 \sin(2x
+ y)$ added to the potential, where the additional node cannot vanish; its reference is a run of order 12.
"""
END = 400.0
DEGREES = (2, 5)
SYSTEMS = {"pendulum": Pendulum, "rippled field": RipplePendulum}
#: Numbers of steps by system and degree. In the rippled field a step of order 10 may be in resonance with the
#: oscillation (2000, 3600 and 4000 steps): its error is then far above the line, with both rules.
COUNTS = {
    "pendulum": {2: (8000, 16_000, 32_000, 64_000, 128_000), 5: (2600, 3000, 4000, 4800)},
    "rippled field": {2: (8000, 16_000, 32_000, 64_000, 128_000), 5: (1600, 2400, 2800, 4400, 4800)},
}
REFERENCE_STEPS = 128_000
STYLES = {
    "s = 2, Gauss": (0, "o", "-"),
    "s = 2, Lobatto": (0, "s", "--"),
    "s = 5, Gauss": (1, "^", "-"),
    "s = 5, Lobatto": (1, "D", "--"),
}


def reference(name: str, q0, v0) -> np.ndarray:
    """Positions at the times at which errors are looked at."""
    if name == "pendulum":
        return np.asarray(Pendulum().exact(np.linspace(0.0, END, SAVED + 1)).q)
    steps = REFERENCE_STEPS
    run = da.simulate(
        SYSTEMS[name](), da.Galerkin(6), q0, v0, t=(0.0, END), h=END / steps, save_every=steps // SAVED,
        compensated=True,
    )  # fmt: skip
    return np.asarray(run.q)


def run(quick: bool) -> Result:
    start = Pendulum().start()
    measured: dict[str, dict[str, Costs]] = {}
    for name, kind in SYSTEMS.items():
        exact = reference(name, start.q0, start.v0)
        measured[name] = {}
        for s in DEGREES:
            for rule, r in (("Gauss", s), ("Lobatto", s + 1)):
                measured[name][f"s = {s}, {rule}"] = costs(
                    kind(), da.Galerkin(s, s, rule.lower(), r), start.q0, start.v0, END, COUNTS[name][s], exact,
                    3.0 if quick else 15.0,
                )  # fmt: skip
    accuracy = {name: _largest_difference(found) for name, found in measured.items()}
    work, time = (
        {name: [_ratio(found, s, what) for s in DEGREES] for name, found in measured.items()}
        for what in ("operations", "seconds")
    )
    words = "; ".join(
        f"{name}: operations {_percents(work[name])}, run time {_percents(time[name])}" for name in measured
    )
    claims = [
        judged(
            accuracy["pendulum"] < 0.05,
            "With the same step sizes both rules give the same accuracy.",
            "the errors differ by at most "
            + ", ".join(f"{100 * value:.2g} % ({name})" for name, value in accuracy.items()),
            note="That is the pendulum, where both are one method. Where they are not, the orders are the same, and "
            "the Lobatto rule has the larger error.",
        ),
        Claim(
            "Gauss quadrature is slightly faster than Lobatto quadrature, which needs one node more.",
            CONFIRMED if min(min(values) for values in work.values()) > 1.0 else REFUTED,
            f"Lobatto against Gauss with equal steps, s = 2 and s = 5, {words}",
            "This is a property of a program, not of the methods. On the pendulum both are one method, and cost the "
            "same: the curves lie on one another. In the rippled field the s + 1 Lobatto nodes are the control points "
            "themselves: the first is known and the others do not mix in the potential, which is probably why Lobatto "
            "quadrature needs fewer operations here.",
        ),
    ]
    return Result({name: rows(found) for name, found in measured.items()}, claims)


def _percents(ratios: list[float]) -> str:
    return " and ".join(f"{100 * (value - 1):+.0f} %" for value in ratios)


def _pairs(named: dict[str, Costs], s: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """A quantity of Gauss and of Lobatto at the numbers of steps that both have."""
    gauss, lobatto = (named[f"s = {s}, {rule}"] for rule in ("Gauss", "Lobatto"))
    common = [count for count in gauss.steps if count in lobatto.steps]
    picked = ([getattr(one, what)[one.steps.index(count)] for count in common] for one in (gauss, lobatto))
    first, second = picked
    return np.array(first), np.array(second)


def _largest_difference(named: dict[str, Costs]) -> float:
    """The largest relative difference of errors well above roundoff."""
    largest = 0.0
    for s in DEGREES:
        gauss, lobatto = _pairs(named, s, "errors")
        clear = gauss > 1e-9
        largest = max(largest, float(np.max(np.abs(lobatto / gauss - 1)[clear], initial=0.0)))
    return largest


def _ratio(named: dict[str, Costs], s: int, what: str) -> float:
    gauss, lobatto = _pairs(named, s, what)
    return float(np.exp(np.mean(np.log(lobatto / gauss))))


def draw(result: Result):
    with style():
        figure = new_figure(10.4, 4.6, ".")
        panels = figure.subplots(1, len(SYSTEMS))
        for name, axes in zip(SYSTEMS, panels, strict=True):
            draw_costs(axes, result.data[name], STYLES)
            axes.set_title(name)
        panels[0].set_ylabel("largest error of $q$")
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


EXPERIMENT = Experiment(
    name="wenger-fig-5",
    paper=PAPER,
    title="Gauss against Lobatto quadrature: error against run time",
    setup=SETUP,
    run=run,
    draw=draw,
    alone=True,
)
