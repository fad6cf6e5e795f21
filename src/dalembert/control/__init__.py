"""Equilibria, linear equations, feedback, optimal control, identification: with the discrete equations of a method."""

from .equilibrium import Equilibrium, equilibrium
from .linearise import Linearisation, linearise
from .regulator import Regulator, Tracker, lqr

__all__ = ["Equilibrium", "Linearisation", "Regulator", "Tracker", "equilibrium", "linearise", "lqr"]
