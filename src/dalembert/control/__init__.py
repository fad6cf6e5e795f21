"""Equilibria, linear equations, feedback, optimal control, identification: with the discrete equations of a method."""

from .equilibrium import Equilibrium, equilibrium
from .fit import Fit, fit
from .linearise import Linearisation, linearise
from .measured import Measured
from .optimal import optimal_control
from .phase import Phase
from .phased_plan import PhasedPlan
from .plan import Plan
from .predictive import PredictiveControl
from .regulator import Regulator, Tracker, lqr

__all__ = [
    "Equilibrium",
    "Fit",
    "Linearisation",
    "Measured",
    "Phase",
    "PhasedPlan",
    "Plan",
    "PredictiveControl",
    "Regulator",
    "Tracker",
    "equilibrium",
    "fit",
    "linearise",
    "lqr",
    "optimal_control",
]
