"""Time. The only loop over steps."""

from .adaptive import Adaptive, integrate_adaptive
from .boundary_value import solve_boundary_value
from .consistent import ConsistentStart, consistent, is_traced
from .dense import inside_steps, repeated_steps
from .ensemble import member
from .event_run import integrate_events
from .events import EVENT_PREFIX, Event, Events
from .family import OBSERVABLES, flat_parameters, multipliers, observe
from .simulate import Run, Status, integrate, status_of_code
from .step import Layout, assemble, check_fit
from .variable_steps import integrate_sizes, is_sequence

__all__ = [
    "EVENT_PREFIX",
    "OBSERVABLES",
    "Adaptive",
    "ConsistentStart",
    "Event",
    "Events",
    "Layout",
    "Run",
    "Status",
    "assemble",
    "check_fit",
    "consistent",
    "flat_parameters",
    "inside_steps",
    "integrate",
    "integrate_adaptive",
    "integrate_events",
    "integrate_sizes",
    "is_sequence",
    "is_traced",
    "member",
    "multipliers",
    "observe",
    "repeated_steps",
    "solve_boundary_value",
    "status_of_code",
]
