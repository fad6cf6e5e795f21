"""What moves. No step size, no solver."""

from .contact import check_contact_data, contact_data
from .overdetermined import DifferentialAlgebraicInequality, OverdeterminedDAE
from .state import State
from .system import (
    PLAIN_ATTRIBUTES,
    AbstractSystem,
    HamiltonianSystem,
    System,
    check_parameters,
    is_parameter,
    parameter_record,
    prepared,
    split_parameters,
    system,
)

__all__ = [
    "PLAIN_ATTRIBUTES",
    "AbstractSystem",
    "DifferentialAlgebraicInequality",
    "HamiltonianSystem",
    "OverdeterminedDAE",
    "State",
    "System",
    "check_contact_data",
    "check_parameters",
    "contact_data",
    "is_parameter",
    "parameter_record",
    "prepared",
    "split_parameters",
    "system",
]
