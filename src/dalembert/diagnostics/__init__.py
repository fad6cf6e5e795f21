"""What the numbers say: orders, structure, drift."""

from .claims import Case, Measured, MeasuredClaims, Setting, claims_of, measure_claims, measured
from .comparison import Curve, compare, energy_errors
from .convergence import EndErrors, ObservedOrder, WorkPrecision, end_errors, observed_order, work_precision
from .foreign import ForeignRun, ForeignSolver, foreign_solvers
from .invariants import Drift, drift
from .jumps import hausdorff_distance, l1_error, l2_error, uniform_error
from .lyapunov import lyapunov_spectrum
from .principle import DiscretePrinciple, discrete_principle, exact_principle
from .rank import ConstraintRank, constraint_rank
from .recommendation import Candidate, Recommendation, recommend
from .reference import reference_solution
from .resolution import StepResolution, step_resolution
from .structure import ReversibilityDefect, reversed_system, reversibility_defect, symplectic_defect

__all__ = [
    "Candidate",
    "Case",
    "ConstraintRank",
    "Curve",
    "DiscretePrinciple",
    "Drift",
    "EndErrors",
    "ForeignRun",
    "ForeignSolver",
    "Measured",
    "MeasuredClaims",
    "ObservedOrder",
    "Recommendation",
    "ReversibilityDefect",
    "Setting",
    "StepResolution",
    "WorkPrecision",
    "claims_of",
    "compare",
    "constraint_rank",
    "discrete_principle",
    "drift",
    "end_errors",
    "energy_errors",
    "exact_principle",
    "foreign_solvers",
    "hausdorff_distance",
    "l1_error",
    "l2_error",
    "lyapunov_spectrum",
    "measure_claims",
    "measured",
    "observed_order",
    "recommend",
    "reference_solution",
    "reversed_system",
    "reversibility_defect",
    "step_resolution",
    "symplectic_defect",
    "uniform_error",
    "work_precision",
]
