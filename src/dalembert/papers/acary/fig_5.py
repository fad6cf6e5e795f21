"""Figure 5: half-explicit Runge-Kutta methods between the impacts."""

import dalembert as da

from ..experiment import Experiment, Result
from . import PAPER
from .capturing import draw_errors, result_of
from .problems import SETUP

METHODS = {f"half-explicit {order}": da.half_explicit(order) for order in (2, 3, 4, 5)}
ORDERS = {name: int(name[-1]) for name in METHODS}
STEPS = (97, 139, 199, 283, 401, 563, 797)


def run(quick: bool) -> Result:
    return result_of(METHODS, ORDERS, STEPS[:4] if quick else STEPS)


EXPERIMENT = Experiment(
    name="acary-fig-5",
    paper=PAPER,
    title="Order of event-capturing schemes with half-explicit Runge-Kutta methods",
    setup=SETUP + " Impacts are located to $h^{p+1}$.",
    run=run,
    draw=draw_errors,
)
