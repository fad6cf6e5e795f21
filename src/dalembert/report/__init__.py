"""The demonstration: every system of the gallery with every method that fits, and one page about it."""

from .demo import Demonstration, demonstrate, first_sentence
from .measure import Measurement, measure

__all__ = ["Demonstration", "Measurement", "demonstrate", "first_sentence", "measure"]
