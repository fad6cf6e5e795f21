"""The equations, by automatic differentiation, in continuous time."""

from .constraints import Holonomic
from .mechanics import Acceleration, Mechanics, mechanics_of

__all__ = ["Acceleration", "Holonomic", "Mechanics", "mechanics_of"]
