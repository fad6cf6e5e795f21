"""Wenger, Ober-Bloebaum, Leyendecker: variational integrators of higher order with holonomic constraints."""

from ..experiment import Paper

PAPER = Paper(
    number=4,
    key="wenger",
    citation="T. Wenger, S. Ober-Blöbaum, S. Leyendecker, Construction and analysis of higher order variational "
    "integrators for dynamical systems with holonomic constraints, 2017",
    title="Higher-order variational integrators with holonomic constraints",
    about="Positions are polynomials of degree $s$, multipliers of degree $w$ on each step; the action and the "
    "constraints have quadratures of their own. The paper measures the orders of all combinations.",
)
