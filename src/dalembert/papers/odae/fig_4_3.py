"""Figure 4.3: errors in y of the natural and the true symplectic Euler method on problem (4.2)."""

from ...gallery.friction_surface import MassOnCubic
from ..experiment import Experiment, Result
from . import PAPER
from .convergence import draw_errors, result_of
from .problems import SETUPS


def run(quick: bool) -> Result:
    return result_of(MassOnCubic(), "y")


def draw(result: Result):
    return draw_errors(result, "y")


EXPERIMENT = Experiment(
    name="odae-fig-4.3",
    paper=PAPER,
    title="Errors of y on problem (4.2): natural and true symplectic Euler",
    setup=SETUPS["MassOnCubic"],
    run=run,
    draw=draw,
)
