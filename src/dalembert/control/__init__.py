"""Equilibria, linear equations, feedback, optimal control, identification: with the discrete equations of a method."""

from .equilibrium import Equilibrium, equilibrium
from .linearise import Linearisation, linearise
from .optimal import optimal_control
from .plan import Plan
from .regulator import Regulator, Tracker, lqr

__all__ = [
    "Equilibrium",
    "Linearisation",
    "Plan",
    "Regulator",
    "Tracker",
    "equilibrium",
    "linearise",
    "lqr",
    "optimal_control",
]
