"""Table 1: orders of convergence with Gauss quadrature of the Lagrangian."""

from ..experiment import Experiment, Result
from . import PAPER
from .order_table import compute, draw_table

SETUP = r"""
Positions are polynomials of degree $s$, multipliers of degree $w \le s$ on each step; the Lagrangian has a Gauss rule,
the constraints the Lobatto rule with $w + 1$ nodes. The planar pendulum with $m = l = 1$ and gravity 9.81 starts at
$q_0 = (\sin 1, -\cos 1)$ with $p_0 = (\cos 1, \sin 1)$ and runs to $t = 1$ with 160 to 4 steps. Momenta and
multipliers are the raw ones of the variational principle (`project=False`).

The error is the largest difference to the exact motion over all steps but the start; the order is the slope over the
five finest runs above roundoff, computed with 80-bit floats. The table is laid out as in the paper and contains all its
combinations: oL is the order of the rule for the Lagrangian, oZ = $2w$ that of the constraints. Since this Lagrangian
is quadratic, every rule that is exact for it gives the same method; the full version repeats the table up to $s = 4$
with $V = 2 \sin(2x + y)$ added, where the rule matters, and checks the positions of every run against the projected
one.
"""


def run(quick: bool) -> Result:
    return compute("gauss", quick)


def draw(result: Result):
    return draw_table(result, "gauss")


EXPERIMENT = Experiment(
    name="wenger-table-1",
    paper=PAPER,
    title="Orders of q, p and λ with Gauss quadrature of the Lagrangian",
    setup=SETUP,
    run=run,
    draw=draw,
)
