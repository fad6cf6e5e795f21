"""What moves. No step size, no solver."""

from .contact import check_contact_data, contact_data
from .dependencies import Dependencies, dependencies, held, holding, known_in_this_call
from .overdetermined import DifferentialAlgebraicInequality, OverdeterminedDAE
from .state import State
from .system import (
    PLAIN_ATTRIBUTES,
    AbstractSystem,
    HamiltonianSystem,
    System,
    check_parameters,
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
    "HamiltonianSystem",
    "OverdeterminedDAE",
    "State",
    "System",
    "check_contact_data",
    "check_parameters",
    "contact_data",
    "dependencies",
    "held",
    "holding",
    "in_words",
    "is_parameter",
    "known_in_this_call",
    "parameter_record",
    "prepared",
    "reads_of_system",
    "split_parameters",
    "system",
]
