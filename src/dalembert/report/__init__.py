"""Two reports: the gallery with every method that fits, and the papers computed again."""

from .demo import Demonstration, demonstrate, first_sentence
from .measure import Measurement, measure
from .records import Record
from .reproduce import Reproduction, reproduce
from .reproduction_page import verdict_words

__all__ = [
    "Demonstration",
    "Measurement",
    "Record",
    "Reproduction",
    "demonstrate",
    "first_sentence",
    "measure",
    "reproduce",
    "verdict_words",
]
