"""Time. The only loop over steps."""

from .consistent import ConsistentStart, consistent, is_traced
from .ensemble import member
from .family import OBSERVABLES, flat_parameters, multipliers, observe
from .simulate import Run, Status, integrate, status_of_code
from .step import Layout, assemble, check_fit

__all__ = [
    "OBSERVABLES",
    "ConsistentStart",
    "Layout",
    "Run",
    "Status",
    "assemble",
    "check_fit",
    "consistent",
    "flat_parameters",
    "integrate",
    "is_traced",
    "member",
    "multipliers",
    "observe",
    "status_of_code",
]
