"""What the numbers say: orders, structure, drift."""

from .convergence import EndErrors, ObservedOrder, WorkPrecision, end_errors, observed_order, work_precision
from .invariants import Drift, drift
from .reference import reference_solution
from .structure import ReversibilityDefect, reversed_system, reversibility_defect, symplectic_defect

__all__ = [
    "Drift",
    "EndErrors",
    "ObservedOrder",
    "ReversibilityDefect",
    "WorkPrecision",
    "drift",
    "end_errors",
    "observed_order",
    "reference_solution",
    "reversed_system",
    "reversibility_defect",
    "symplectic_defect",
    "work_precision",
]
