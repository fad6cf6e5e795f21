"""From residual to code. Knows no mechanics."""

from .choice import choose_engine
from .contract import (
    HISTORY,
    LEFT_CONSTRAINTS,
    NOT_CONVERGED,
    NOT_FINITE,
    OK,
    STATUS,
    Carry,
    Chunk,
    Phase,
    StepFunctions,
    Unkeyed,
)
from .cuda import CudaRun
from .ensemble import EnsembleRun
from .evaluate import Function, find_root, row_lengths, solve_linear
from .phases import PhasedRun, TimeSteps
from .rescue import Rescue
from .resuming import condition_of, restore_condition
from .row_jacobian import RowJacobian, RowNewton
from .rows import RowFunction, RowSolver
from .tiers import finish_compiling
from .xla import XlaRun, run_traced

__all__ = [
    "HISTORY",
    "LEFT_CONSTRAINTS",
    "NOT_CONVERGED",
    "NOT_FINITE",
    "OK",
    "STATUS",
    "Carry",
    "Chunk",
    "CudaRun",
    "EnsembleRun",
    "Function",
    "Phase",
    "PhasedRun",
    "Rescue",
    "RowFunction",
    "RowJacobian",
    "RowNewton",
    "RowSolver",
    "StepFunctions",
    "TimeSteps",
    "Unkeyed",
    "XlaRun",
    "choose_engine",
    "condition_of",
    "find_root",
    "finish_compiling",
    "restore_condition",
    "row_lengths",
    "run_traced",
    "solve_linear",
]
