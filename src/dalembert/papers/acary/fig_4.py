"""Figure 4: implicit Runge-Kutta methods between the impacts."""

import dalembert as da

from ..experiment import Experiment, Result
from . import PAPER
from .capturing import draw_errors, result_of
from .problems import SETUP

METHODS = {
    "Radau IIA 3": da.radau_iia(2),
    "Radau IIA 5": da.radau_iia(3),
    "Lobatto IIIA 2": da.lobatto_iiia(2),
    "Lobatto IIIA 4": da.lobatto_iiia(3),
    "Lobatto IIIA 6": da.lobatto_iiia(4),
}
ORDERS = {name: int(name[-1]) for name in METHODS}
STEPS = (97, 139, 199, 283, 401, 563, 797)


def run(quick: bool) -> Result:
    return result_of(METHODS, ORDERS, STEPS[:4] if quick else STEPS)


EXPERIMENT = Experiment(
    name="acary-fig-4",
    paper=PAPER,
    title="Order of event-capturing schemes with implicit Runge-Kutta methods",
    setup=SETUP + " Impacts are located to $h^{p+1}$.",
    run=run,
    draw=draw_errors,
)
