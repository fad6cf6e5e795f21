"""Time. The only loop over steps."""

from .assembly import Assembly, assemble_model
from .assembly_report import Report, check_model
from .backwards import cause_in_substeps
from .consistent import ConsistentStart, consistent, is_traced
from .crossing_search import EventFunctions, Rows, Search, SearchFailure, ShortSteps
from .crossings import INFO as CROSSING_INFO
from .crossings import Crossing, Crossings, Found
from .dense import TakenSteps, repeated_steps, runner_at
from .drive import integrate
from .ensemble import prepare_batch
from .event_inside import SavedEvents
from .event_members import of_member
from .event_record import MODE_PREFIX, ModeHistory
from .events import EVENT_PREFIX, ContactEvent, Events
from .members import Members, member, observe_batch
from .model_check import independent_rows, layout_of
from .options import Given, Options, checked, checked_save_every
from .prologue import Prepared, prepare_run
from .pure_step import pure_steps
from .redundant import least_norm, redundant_multipliers, rows_along
from .run import Run, Status, ended, interrupted_after, ok_after, read_only, status_of_code
from .shared_equations import (
    OBSERVABLES,
    Family,
    accelerations,
    equation_rows,
    flat_parameters,
    for_family,
    multipliers,
    observe,
    parameter_places,
    recognised,
)
from .step import Layout, assemble, check_fit
from .step_sizes import Adaptive, EqualSteps, equal_steps

__all__ = [
    "CROSSING_INFO",
    "EVENT_PREFIX",
    "MODE_PREFIX",
    "OBSERVABLES",
    "Adaptive",
    "Assembly",
    "ConsistentStart",
    "ContactEvent",
    "Crossing",
    "Crossings",
    "EqualSteps",
    "EventFunctions",
    "Events",
    "Family",
    "Found",
    "Given",
    "Layout",
    "Members",
    "ModeHistory",
    "Options",
    "Prepared",
    "Report",
    "Rows",
    "Run",
    "SavedEvents",
    "Search",
    "SearchFailure",
    "ShortSteps",
    "Status",
    "TakenSteps",
    "accelerations",
    "assemble",
    "assemble_model",
    "cause_in_substeps",
    "check_fit",
    "check_model",
    "checked",
    "checked_save_every",
    "consistent",
    "ended",
    "equal_steps",
    "equation_rows",
    "flat_parameters",
    "for_family",
    "independent_rows",
    "integrate",
    "interrupted_after",
    "is_traced",
    "layout_of",
    "least_norm",
    "member",
    "multipliers",
    "observe",
    "observe_batch",
    "of_member",
    "ok_after",
    "parameter_places",
    "prepare_batch",
    "prepare_run",
    "pure_steps",
    "read_only",
    "recognised",
    "redundant_multipliers",
    "repeated_steps",
    "rows_along",
    "runner_at",
    "status_of_code",
]
