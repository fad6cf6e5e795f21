"""Figure 5: Gauss against Lobatto quadrature of the Lagrangian, error against run time."""

import numpy as np

import dalembert as da

from ...gallery import Pendulum
from ..experiment import CONFIRMED, REFUTED, Claim, Experiment, Result, judged
from . import PAPER
from .efficiency import SAVED, Costs, costs, draw_costs, rows
from .orders import RipplePendulum

SETUP = r"""
The pendulum of the figure before, with $s = w = 2$ and $s = w = 5$. A Gauss rule of order $2s$ has $s$ nodes, a
Lobatto rule of that order has $s + 1$; both give $q$ the order $2s$.

On the pendulum both rules integrate the Lagrangian exactly, so the two methods are one and the same; the program,
which simplifies the equations before it compiles them, may find that out. The cost of the additional node is therefore
also counted with $V = 2 \sin(2x + y)$ added to the potential, where it cannot vanish.
"""
END = 400.0
DEGREES = (2, 5)
COUNTS = {2: (8000, 16_000, 32_000, 64_000, 128_000), 5: (3200, 3600, 4000, 4800)}
STYLES = {
    "s = 2, Gauss": (0, "o", "-"),
    "s = 2, Lobatto": (0, "s", "--"),
    "s = 5, Gauss": (1, "^", "-"),
    "s = 5, Lobatto": (1, "D", "--"),
}


def run(quick: bool) -> Result:
    start = Pendulum().start()
    exact = np.asarray(Pendulum().exact(np.linspace(0.0, END, SAVED + 1)).q)
    named: dict[str, Costs] = {}
    extra = {}
    for s in DEGREES:
        rules = {"Gauss": da.Galerkin(s, s, "gauss", s), "Lobatto": da.Galerkin(s, s, "lobatto", s + 1)}
        rippled = []
        for rule, method in rules.items():
            named[f"s = {s}, {rule}"] = costs(Pendulum(), method, start.q0, start.v0, END, COUNTS[s], exact)
            one = da.simulate(RipplePendulum(), method, start.q0, start.v0, t=(0.0, 10.0), h=0.02)
            rippled.append(one.stats["operations_per_iteration"])
        extra[s] = rippled[1] / rippled[0]
    accuracy = _largest_difference(named)
    work = {s: _ratio(named, s, "operations") for s in DEGREES}
    time = {s: _ratio(named, s, "seconds") for s in DEGREES}
    claims = [
        judged(
            accuracy < 0.05,
            "With the same step sizes both rules give the same accuracy.",
            f"the errors differ by at most {100 * accuracy:.2g} %",
        ),
        Claim(
            "Gauss quadrature is slightly faster than Lobatto quadrature, which needs one node more.",
            CONFIRMED if all(value > 1.0 for value in extra.values()) else REFUTED,
            "Lobatto against Gauss, on the pendulum: operations "
            + ", ".join(f"{100 * (value - 1):+.0f} % (s = {s})" for s, value in work.items())
            + ", run time "
            + ", ".join(f"{100 * (value - 1):+.0f} %" for value in time.values())
            + "; in the rippled field, operations of an iteration: "
            + ", ".join(f"{100 * (value - 1):+.0f} %" for value in extra.values()),
            "This is a property of a program, not of the methods. On the pendulum both are one method, and the "
            "simplified equations cost about the same. In the rippled field the s + 1 Lobatto nodes are the "
            "control points themselves: the first is known and the others do not mix in the potential, which is "
            "probably why Lobatto quadrature needs fewer operations here.",
        ),
    ]
    return Result({"runs": rows(named)}, claims)


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
    return draw_costs(result.data["runs"], STYLES)


EXPERIMENT = Experiment(
    name="wenger-fig-5",
    paper=PAPER,
    title="Gauss against Lobatto quadrature: error against run time",
    setup=SETUP,
    run=run,
    draw=draw,
    alone=True,
)
