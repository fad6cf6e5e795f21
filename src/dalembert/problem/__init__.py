"""What moves. No step size, no solver."""

from .contact import check_contact_data, contact_data
from .overdetermined import DifferentialAlgebraicInequality, OverdeterminedDAE
from .state import State
from .system import (
    AbstractSystem,
    HamiltonianSystem,
    System,
    parameter_record,
    prepared,
    split_parameters,
    system,
)

__all__ = [
    "AbstractSystem",
    "DifferentialAlgebraicInequality",
    "HamiltonianSystem",
    "OverdeterminedDAE",
    "State",
    "System",
    "check_contact_data",
    "contact_data",
    "parameter_record",
    "prepared",
    "split_parameters",
    "system",
]
