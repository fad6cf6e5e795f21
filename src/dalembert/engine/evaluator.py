"""Numbers for some operations of a finished scalar program, with numpy; for one sample also as a function in Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .program import CONST, INPUT, NUMPY, Program

#: Operations up to which a function for one sample is written; longer ones take more time to compile than they save.
MOST_LINES = 3_000
_PYTHON = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}", "abs": "abs({})"}
_PYTHON |= {"lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}", "eq": "{} == {}", "ne": "{} != {}"}
_PYTHON |= {"select": "{1} if {0} else {2}"}


class Evaluator:
    """Numbers for some operations of a finished program; only what they need is computed.

    Walking the program with arrays of one number costs a microsecond an operation; from the second call with one
    sample on, a function with one line an operation is used, which costs a twentieth of that and gives the same bits
    (what is not arithmetic is left to numpy).
    """

    def __init__(self, program: Program, outputs: np.ndarray, arrays=np) -> None:
        """`arrays` is numpy, or what stands in for it on a GPU."""
        self._program, self._outputs, self._arrays = program, outputs.tolist(), arrays
        self._order = program.needed(self._outputs)
        self._inputs = [program.value[k] for k in self._order if program.op[k] == INPUT]
        self._calls = 0
        self._function: Callable | None = None

    def __call__(self, inputs: dict) -> np.ndarray:
        """One row an output; samples, if the inputs hold any, along the last axis."""
        numbers = [inputs[name] for name in self._inputs]
        single = self._arrays is np and len(self._order) <= MOST_LINES
        if single and all(np.size(number) == 1 for number in numbers):
            self._calls += 1
            if self._calls > 1:
                found = self._at_one(numbers)
                if found is not None:
                    return found
        return self._walk(inputs)

    def _walk(self, inputs: dict) -> np.ndarray:
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

    def _at_one(self, numbers: list) -> np.ndarray | None:
        """The outputs at one sample, or None where Python raises what numpy answers with infinity."""
        if self._function is None:
            self._function = self._written()
        try:
            with np.errstate(all="ignore"):
                values = self._function(*(float(np.asarray(number).reshape(())) for number in numbers))
        except (ZeroDivisionError, OverflowError):
            return None
        sampled = any(np.ndim(number) for number in numbers)
        result = np.array(values, dtype=np.float64)
        return result[:, None] if sampled else result

    def _written(self) -> Callable:
        program, constants = self._program, {}
        arguments, lines = [], []
        for k in self._order:
            op = program.op[k]
            if op == CONST:
                constants[f"v{k}"] = program.value[k]
            elif op == INPUT:
                arguments.append(f"v{k}")
            else:
                names = [f"v{a}" for a in program.args[k]]
                pattern = _PYTHON.get(op, f"of_{op}(" + ", ".join(["{}"] * len(names)) + ")")
                lines.append(f" v{k} = {pattern.format(*names)}")
        outputs = "".join(f"v{node}, " for node in self._outputs)
        text = "\n".join([f"def function({', '.join(arguments)}):", *lines, f" return ({outputs})"])
        scope: dict = {**{f"of_{op}": function for op, function in NUMPY.items()}, **constants}
        exec(compile(text, "<scalar program>", "exec"), scope)
        return scope["function"]
