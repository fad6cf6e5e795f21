"""Time. The only loop over steps."""

from .adaptive import Adaptive, integrate_adaptive
from .assembly import Assembly, assemble_model
from .assembly_report import Report, check_model
from .backwards import cause_in_substeps
from .boundary_value import solve_boundary_value
from .checkpoint import is_store, request_of
from .consistent import ConsistentStart, consistent, is_traced
from .dense import inside_steps, repeated_steps
from .ensemble import member, observe_batch
from .event_run import integrate_events
from .events import EVENT_PREFIX, Event, Events
from .family import OBSERVABLES, Family, equation_rows, flat_parameters, for_family, multipliers, observe
from .model_check import independent_rows, layout_of
from .redundant import least_norm, redundant_multipliers, rows_along
from .simulate import Run, Status, final_status, integrate, status_of_code
from .step import Layout, assemble, check_fit
from .store import Store, StoredStates
from .store_files import Damaged, temporary_of
from .traced import recognised
from .variable_steps import integrate_sizes, is_sequence

__all__ = [
    "EVENT_PREFIX",
    "OBSERVABLES",
    "Adaptive",
    "Assembly",
    "ConsistentStart",
    "Damaged",
    "Event",
    "Events",
    "Family",
    "Layout",
    "Report",
    "Run",
    "Status",
    "Store",
    "StoredStates",
    "assemble",
    "assemble_model",
    "cause_in_substeps",
    "check_fit",
    "check_model",
    "consistent",
    "equation_rows",
    "final_status",
    "flat_parameters",
    "for_family",
    "independent_rows",
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
    "temporary_of",
]
