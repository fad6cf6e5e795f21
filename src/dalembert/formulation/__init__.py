"""The equations, by automatic differentiation, in continuous time."""

from .constraints import Holonomic, Nonholonomic
from .mechanics import Acceleration, Mechanics, mechanics_of

__all__ = ["Acceleration", "Holonomic", "Mechanics", "Nonholonomic", "mechanics_of"]
