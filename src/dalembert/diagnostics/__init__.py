"""What the numbers say: orders, structure, drift."""

from .convergence import EndErrors, ObservedOrder, WorkPrecision, end_errors, observed_order, work_precision
from .invariants import Drift, drift
from .principle import DiscretePrinciple, discrete_principle
from .reference import reference_solution
from .structure import ReversibilityDefect, reversed_system, reversibility_defect, symplectic_defect

__all__ = [
    "DiscretePrinciple",
    "Drift",
    "EndErrors",
    "ObservedOrder",
    "ReversibilityDefect",
    "WorkPrecision",
    "discrete_principle",
    "drift",
    "end_errors",
    "observed_order",
    "reference_solution",
    "reversed_system",
    "reversibility_defect",
    "symplectic_defect",
    "work_precision",
]
