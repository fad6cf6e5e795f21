"""Figure 4.2: errors in z of the natural and the true symplectic Euler method on problem (4.1)."""

from ...gallery.friction_surface import NonlinearReaction
from ..experiment import Experiment, Result
from . import PAPER
from .convergence import draw_errors, result_of
from .problems import SETUPS


def run(quick: bool) -> Result:
    return result_of(NonlinearReaction(), "z")


def draw(result: Result):
    return draw_errors(result, "z")


EXPERIMENT = Experiment(
    name="odae-fig-4.2",
    paper=PAPER,
    title="Errors of z on problem (4.1): natural and true symplectic Euler",
    setup=SETUPS["NonlinearReaction"],
    run=run,
    draw=draw,
)
