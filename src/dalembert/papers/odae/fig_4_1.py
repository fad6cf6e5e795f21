"""Figure 4.1: errors in y of the natural and the true symplectic Euler method on problem (4.1)."""

from ...gallery.friction_surface import NonlinearReaction
from ..experiment import Experiment, Result
from . import PAPER
from .convergence import draw_errors, result_of
from .problems import SETUPS


def run(quick: bool) -> Result:
    return result_of(NonlinearReaction(), "y")


def draw(result: Result):
    return draw_errors(result, "y")


EXPERIMENT = Experiment(
    name="odae-fig-4.1",
    paper=PAPER,
    title="Errors of y on problem (4.1): natural and true symplectic Euler",
    setup=SETUPS["NonlinearReaction"],
    run=run,
    draw=draw,
)
