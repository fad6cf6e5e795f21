"""From residual to code. Knows no mechanics."""

from ..interruption import Interruption, is_wanted, raising
from .contract import (
    GUARDED,
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
    Runner,
    StepFunctions,
    Unkeyed,
)
from .derivatives.choice import reason_for_xla
from .derivatives.operation import Task, native_run
from .derivatives.recorded import Forward, Grid, Sizes, differentiable
from .functions.batched import RowFunction, RowSolver
from .functions.batched_jacobian import RowDerivatives, RowJacobian, RowNewton, RowValues, solve_rows
from .functions.function import Function, find_root, row_lengths, solve_linear
from .machine.effort import finish_compiling
from .runners.alternating import Alternating
from .runners.choice import EngineOptions, choose_engine, compiled_or_reason
from .runners.compile_time import compile_time
from .runners.cuda import CudaRun
from .runners.ensemble import EnsembleRun, LaneSteps
from .runners.native import NativeRun
from .runners.phases import PhasedRun, TimeSteps, steps_of_sizes
from .runners.rescue import Rescue
from .runners.stepwise import LoneSteps, Snapshot, Stepwise, stepwise
from .runners.translation import TooLarge
from .runners.xla import XlaRun, run_traced
from .trace.interpreter import DIFFERENTIATED
from .trace.tracing import operations_of

__all__ = [
    "DIFFERENTIATED",
    "GUARDED",
    "HISTORY",
    "INTERRUPTED",
    "LEFT_CONSTRAINTS",
    "NOT_CONVERGED",
    "NOT_FINITE",
    "OK",
    "STATUS",
    "Alternating",
    "Carry",
    "Chunk",
    "CudaRun",
    "EngineOptions",
    "EnsembleRun",
    "Forward",
    "Function",
    "Grid",
    "Interruption",
    "LaneSteps",
    "LoneSteps",
    "NativeRun",
    "Phase",
    "PhasedRun",
    "Rescue",
    "RowDerivatives",
    "RowFunction",
    "RowJacobian",
    "RowNewton",
    "RowSolver",
    "RowValues",
    "Runner",
    "Sizes",
    "Snapshot",
    "StepFunctions",
    "Stepwise",
    "Task",
    "TimeSteps",
    "TooLarge",
    "Unkeyed",
    "XlaRun",
    "choose_engine",
    "compile_time",
    "compiled_or_reason",
    "differentiable",
    "find_root",
    "finish_compiling",
    "is_wanted",
    "native_run",
    "operations_of",
    "raising",
    "reason_for_xla",
    "row_lengths",
    "run_traced",
    "solve_linear",
    "solve_rows",
    "steps_of_sizes",
    "stepwise",
]
