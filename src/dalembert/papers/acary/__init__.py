"""Acary 2012: event-capturing time stepping of higher order for contact and impact."""

from ..experiment import Paper

PAPER = Paper(
    number=5,
    key="acary",
    citation=(
        "V. Acary, Higher order event capturing time-stepping schemes for nonsmooth multibody systems with unilateral "
        "constraints and impacts, Applied Numerical Mathematics 62 (2012) 1259-1275, doi:10.1016/j.apnum.2012.06.026"
    ),
    title="Event-capturing schemes of higher order",
    about=(
        "Moreau's time stepping passes through any number of impacts with order 1. Away from them it can be replaced "
        "by a Runge-Kutta method of any order, if the impacts are located closely enough."
    ),
)
