"""From residual to code. Knows no mechanics."""

from .choice import choose_engine
from .contract import OK, STATUS, Carry, Chunk, StepFunctions
from .evaluate import Function, find_root, solve_linear
from .xla import XlaRun, run_traced

__all__ = [
    "OK",
    "STATUS",
    "Carry",
    "Chunk",
    "Function",
    "StepFunctions",
    "XlaRun",
    "choose_engine",
    "find_root",
    "run_traced",
    "solve_linear",
]
