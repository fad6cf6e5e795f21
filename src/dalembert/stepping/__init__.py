"""Time. The only loop over steps."""

from .adaptive import Adaptive, integrate_adaptive
from .assembly import Assembly, assemble_model
from .assembly_report import Report, check_model
from .backwards import cause_in_substeps
from .consistent import ConsistentStart, consistent, is_traced
from .dense import inside_steps, repeated_steps
from .ensemble import member, observe_batch
from .event_run import integrate_events
from .events import EVENT_PREFIX, Event, Events
from .family import OBSERVABLES, Family, accelerations, equation_rows, flat_parameters, for_family, multipliers, observe
from .model_check import independent_rows, layout_of
from .redundant import least_norm, redundant_multipliers, rows_along
from .simulate import Run, Status, final_status, integrate, status_of_code
from .step import Layout, assemble, check_fit
from .traced import recognised
from .variable_steps import integrate_sizes, is_sequence

__all__ = [
    "EVENT_PREFIX",
    "OBSERVABLES",
    "Adaptive",
    "Assembly",
    "ConsistentStart",
    "Event",
    "Events",
    "Family",
    "Layout",
    "Report",
    "Run",
    "Status",
    "accelerations",
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
    "rows_along",
    "status_of_code",
]
