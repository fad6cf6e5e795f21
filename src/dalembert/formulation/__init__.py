"""The equations, by automatic differentiation, in continuous time."""

from .constraints import Holonomic, Nonholonomic
from .mechanics import Acceleration, Mechanics, mechanics_of
from .natural_limit import NaturalLimit, natural_limit

__all__ = ["Acceleration", "Holonomic", "Mechanics", "NaturalLimit", "Nonholonomic", "mechanics_of", "natural_limit"]
