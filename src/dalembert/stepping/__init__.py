"""Time. The only loop over steps."""

from .adaptive import Adaptive, integrate_adaptive
from .boundary_value import solve_boundary_value
from .checkpoint import is_store, request_of
from .consistent import ConsistentStart, consistent, is_traced
from .dense import inside_steps, repeated_steps
from .ensemble import member, observe_batch
from .event_run import integrate_events
from .events import EVENT_PREFIX, Event, Events
from .family import OBSERVABLES, flat_parameters, multipliers, observe
from .model_check import layout_of
from .redundant import least_norm, redundant_multipliers, rows_along
from .simulate import Run, Status, final_status, integrate, status_of_code
from .step import Layout, assemble, check_fit
from .store import Store, StoredStates
from .store_files import Damaged
from .traced import recognised
from .variable_steps import integrate_sizes, is_sequence

__all__ = [
    "EVENT_PREFIX",
    "OBSERVABLES",
    "Adaptive",
    "ConsistentStart",
    "Damaged",
    "Event",
    "Events",
    "Layout",
    "Run",
    "Status",
    "Store",
    "StoredStates",
    "assemble",
    "check_fit",
    "consistent",
    "final_status",
    "flat_parameters",
    "inside_steps",
    "integrate",
    "integrate_adaptive",
    "integrate_events",
    "integrate_sizes",
    "is_sequence",
    "is_store",
    "is_traced",
    "layout_of",
    "least_norm",
    "member",
    "multipliers",
    "observe",
    "observe_batch",
    "recognised",
    "redundant_multipliers",
    "repeated_steps",
    "request_of",
    "rows_along",
    "solve_boundary_value",
    "status_of_code",
]
