"""The equations, by automatic differentiation, in continuous time."""

from .constraints import Holonomic, Nonholonomic
from .contact import Contact
from .contact_units import Evaluation, contact_friction
from .deferred_function import Arithmetic, late, solved
from .discrete_derivative import (
    DISCRETE_DERIVATIVES,
    coordinates,
    mean_value,
    midpoint,
    quotient,
    through,
    weights_through,
)
from .entrywise import acts_entrywise
from .invariants import dot_products, edge_products, squared_distances, squared_triple_products
from .mechanics import Acceleration, Mechanics, mechanics_of
from .natural_limit import NaturalLimit, natural_limit
from .symmetries import Symmetry, symmetries
from .taylor import Along

__all__ = [
    "DISCRETE_DERIVATIVES",
    "Acceleration",
    "Along",
    "Arithmetic",
    "Contact",
    "Evaluation",
    "Holonomic",
    "Mechanics",
    "NaturalLimit",
    "Nonholonomic",
    "Symmetry",
    "acts_entrywise",
    "contact_friction",
    "coordinates",
    "dot_products",
    "edge_products",
    "late",
    "mean_value",
    "mechanics_of",
    "midpoint",
    "natural_limit",
    "quotient",
    "solved",
    "squared_distances",
    "squared_triple_products",
    "symmetries",
    "through",
    "weights_through",
]
