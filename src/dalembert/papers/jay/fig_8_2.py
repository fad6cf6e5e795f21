"""Figure 8.2: the skate on an inclined plane with Lobatto IIIA-B SPARK methods."""

import numpy as np

import dalembert as da

from ...gallery import Skate
from ..energy import draw_energy_panels, summary
from ..experiment import Experiment, Result, judged
from . import PAPER
from .bounded_energy import bounded_claim, compute, curves_of, table

SETUP = r"""
A skate on a plane inclined by $\beta = \pi / 2$, with $m = I = g = 1$: $T = |v|^2 / 2$, $U = -q_1$, and the blade does
not slip, $\cos(q_3) v_2 - \sin(q_3) v_1 = 0$. It starts at the origin with $v_0 = (0, 0, 1)$.

Lobatto IIIA-B SPARK methods with $s = 2, 3, 4$ stages and $h = 0.1$ run over $[0, 100]$; the full version over an
interval 40 times longer. The motion is known: $q = (\sin^2(t) / 2, t / 2 - \sin(2t) / 4, t)$.
"""
END, STEP = 100.0, 0.1
METHODS = {f"Lobatto IIIA-B, s = {s}": da.lobatto_spark(s, "AB") for s in (2, 3, 4)}


def exact_position(t: np.ndarray) -> np.ndarray:
    """The closed form, time first."""
    return np.stack([np.sin(t) ** 2 / 2, t / 2 - np.sin(2 * t) / 4, t], axis=-1)


def run(quick: bool) -> Result:
    q0, v0 = [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    curves, found = compute(Skate(), METHODS, q0, v0, END, STEP, quick)
    claims = [bounded_claim("the Lobatto IIIA-B SPARK methods with 2, 3 and 4 stages on the skate", found, END, quick)]
    hs = np.array([0.2, 0.1, 0.05, 0.025])
    orders = []
    for method in METHODS.values():
        orders.append(da.observed_order(Skate(), method, q0, v0, (0.0, 2.0), hs, exact_position(np.array(2.0))).slope)
    claims.append(
        judged(
            all(abs(order - expected) < 0.2 for order, expected in zip(orders, (2, 4, 6), strict=True)),
            "Lobatto IIIA-B methods with s stages have order 2s − 2.",
            ", ".join(f"s = {s}: {order:.2f}" for s, order in zip((2, 3, 4), orders, strict=True))
            + " in q at t = 2, against the closed form",
        )
    )
    return Result({"energy error": table(curves), "summary": summary(found)}, claims)


def draw(result: Result):
    return draw_energy_panels(curves_of(result.data["energy error"]))


EXPERIMENT = Experiment(
    name="jay-fig-8.2",
    paper=PAPER,
    title="Energy error of Lobatto IIIA-B SPARK on the skate",
    setup=SETUP,
    run=run,
    draw=draw,
)
