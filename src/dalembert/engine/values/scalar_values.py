"""Numbers for some operations of a finished scalar program, with numpy or what stands in for it on a GPU."""

from __future__ import annotations

import numpy as np

from ..program.program import CONST, INPUT, NUMPY, Program


class Evaluator:
    """Numbers for some operations of a finished program; only what they need is computed."""

    def __init__(self, program: Program, outputs: np.ndarray, arrays=np) -> None:
        """`arrays` is numpy, or what stands in for it on a GPU."""
        self._program, self._outputs, self._arrays = program, outputs.tolist(), arrays
        self._order = program.needed(self._outputs)

    def __call__(self, inputs: dict) -> np.ndarray:
        """One row an output; samples, if the inputs hold any, along the last axis."""
        program, known = self._program, {}
        with np.errstate(all="ignore"):
            for k in self._order:
                op = program.op[k]
                if op == CONST:
                    known[k] = program.value[k]
                elif op == INPUT:
                    known[k] = inputs[program.value[k]]
                else:
                    known[k] = NUMPY[op](*[known[a] for a in program.args[k]])
        arrays = self._arrays
        rows = [arrays.asarray(known[node], dtype=np.float64) for node in self._outputs]
        return arrays.stack(arrays.broadcast_arrays(*rows)) if rows else arrays.zeros((0,))
