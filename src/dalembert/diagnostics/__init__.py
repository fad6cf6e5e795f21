"""What the numbers say: orders, structure, drift."""

from .convergence import EndErrors, ObservedOrder, WorkPrecision, end_errors, observed_order, work_precision
from .invariants import Drift, drift
from .jumps import hausdorff_distance, l1_error, l2_error, uniform_error
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
    "hausdorff_distance",
    "l1_error",
    "l2_error",
    "observed_order",
    "reference_solution",
    "reversed_system",
    "reversibility_defect",
    "symplectic_defect",
    "uniform_error",
    "work_precision",
]
