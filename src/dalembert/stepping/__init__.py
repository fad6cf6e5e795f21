"""Time. The only loop over steps."""

from .consistent import ConsistentStart, consistent, is_traced
from .simulate import Run, Status, integrate, status_of_code
from .step import Layout, assemble, check_fit, flat_parameters

__all__ = [
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
    "status_of_code",
]
