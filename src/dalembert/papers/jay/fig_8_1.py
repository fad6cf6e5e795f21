"""Figure 8.1: the nonholonomic particle with Gauss SPARK methods."""

import dalembert as da

from ...gallery import NonholonomicParticle
from ..energy import draw_energy_panels, summary
from ..experiment import Experiment, Result
from . import PAPER
from .bounded_energy import bounded_claim, compute, curves_of, table

SETUP = r"""
A particle in space with $T = |v|^2 / 2$ and $U = q_1^2 + q_2^2$ obeys $v_3 - q_2 v_1 = 0$. It starts at $q_0 = (1, 0,
0)$ with $v_0 = (0, 1, 0)$, so $E_0 = 3/2$.

Gauss SPARK methods with $s = 1, 2, 3$ stages and $h = 0.2$ run over $[0, 250]$; the full version over an interval 40
times longer. Energy is not conserved by these methods; the question is whether its error grows.
"""
END, STEP = 250.0, 0.2
METHODS = {f"Gauss, s = {s}": da.gauss_spark(s) for s in (1, 2, 3)}


def run(quick: bool) -> Result:
    q0, v0 = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    curves, found = compute(NonholonomicParticle(), METHODS, q0, v0, END, STEP, quick)
    claim = bounded_claim("the Gauss SPARK methods with 1, 2 and 3 stages on the particle", found, END, quick)
    return Result({"energy error": table(curves), "summary": summary(found)}, [claim])


def draw(result: Result):
    return draw_energy_panels(curves_of(result.data["energy error"]))


EXPERIMENT = Experiment(
    name="jay-fig-8.1",
    paper=PAPER,
    title="Energy error of Gauss SPARK on the nonholonomic particle",
    setup=SETUP,
    run=run,
    draw=draw,
)
