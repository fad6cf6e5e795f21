"""The discrete equations, one family a file."""

from .base import Advance, Claims, Method, Step
from .catalogue import CATALOGUE, method_named
from .rattle import Rattle, Shake

__all__ = ["CATALOGUE", "Advance", "Claims", "Method", "Rattle", "Shake", "Step", "method_named"]
