"""What moves. No step size, no solver."""

from .contact import check_contact_data, contact_data
from .dependencies import Dependencies, dependencies, held, holding, known_in_this_call
from .event import Event, named_events
from .from_sympy import from_sympy
from .inputs import (
    Input,
    Inputs,
    driven,
    driven_by_law,
    inputs_of,
    lagrange_weights,
    require_inputs,
    undriven,
)
from .overdetermined import DifferentialAlgebraicInequality, OverdeterminedDAE
from .state import State
from .system import (
    PLAIN_ATTRIBUTES,
    AbstractSystem,
    HamiltonianSystem,
    System,
    check_parameters,
    has_own_inputs,
    in_words,
    is_parameter,
    parameter_record,
    prepared,
    reads_of_system,
    split_parameters,
    system,
)

__all__ = [
    "PLAIN_ATTRIBUTES",
    "AbstractSystem",
    "Dependencies",
    "DifferentialAlgebraicInequality",
    "Event",
    "HamiltonianSystem",
    "Input",
    "Inputs",
    "OverdeterminedDAE",
    "State",
    "System",
    "check_contact_data",
    "check_parameters",
    "contact_data",
    "dependencies",
    "driven",
    "driven_by_law",
    "from_sympy",
    "has_own_inputs",
    "held",
    "holding",
    "in_words",
    "inputs_of",
    "is_parameter",
    "known_in_this_call",
    "lagrange_weights",
    "named_events",
    "parameter_record",
    "prepared",
    "reads_of_system",
    "require_inputs",
    "split_parameters",
    "system",
    "undriven",
]
