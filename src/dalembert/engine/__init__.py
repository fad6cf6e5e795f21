"""From residual to code. Knows no mechanics."""

from .choice import choose_engine
from .contract import (
    HISTORY,
    INTERRUPTED,
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
from .interruption import Interruption, is_wanted, raising
from .phases import PhasedRun, TimeSteps
from .rescue import Rescue
from .resuming import condition_of, restore_condition, way_back
from .row_jacobian import RowJacobian, RowNewton
from .rows import RowFunction, RowSolver
from .tiers import finish_compiling
from .xla import XlaRun, run_traced

__all__ = [
    "HISTORY",
    "INTERRUPTED",
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
    "Interruption",
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
    "is_wanted",
    "raising",
    "restore_condition",
    "row_lengths",
    "run_traced",
    "solve_linear",
    "way_back",
]
