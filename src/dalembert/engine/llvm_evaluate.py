"""Some operations of a scalar program as one compiled function of its inputs, for numbers that a run needs again and
again outside its steps. Walking the program in Python takes milliseconds, more than many short runs."""

from __future__ import annotations

import ctypes

import numpy as np

from .llvm_arithmetic import Arithmetic, Writer
from .llvm_compile import compile_text
from .program import CONST, INPUT, Program


class CompiledEvaluator:
    """Values of operations from {kind: values}; those of one sample only."""

    def __init__(self, program: Program, outputs: list[int]) -> None:
        self._kinds: dict[str, int] = {}
        self._count = len(outputs)
        order = program.needed(outputs)
        for node in order:
            if program.op[node] == INPUT:
                kind, index = program.value[node]
                self._kinds[kind] = max(self._kinds.get(kind, 0), index + 1)
        self._code, _ = compile_text(self._text(program, order, outputs), effort=0)
        self._function = self._code.function("evaluate", ctypes.c_void_p, ctypes.c_void_p)

    def _text(self, program: Program, order: list[int], outputs: list[int]) -> str:
        arithmetic = Arithmetic()
        w, names = Writer(arithmetic), {}
        first = dict(zip(self._kinds, np.cumsum([0, *self._kinds.values()]).tolist(), strict=False))
        for node in order:
            op = program.op[node]
            if op == CONST:
                number = program.value[node]
                is_truth = isinstance(number, bool | np.bool_)
                names[node] = arithmetic.truth_constant(bool(number)) if is_truth else arithmetic.constant(number)
            elif op == INPUT:
                kind, index = program.value[node]
                names[node] = w.load("%inputs", first[kind] + index)
            else:
                names[node] = w.operation(op, [names[a] for a in program.args[node]])
        for k, node in enumerate(outputs):
            w.store(names[node], "%outputs", k)
        body = "\n".join([*sorted(w.declarations), "define void @evaluate(ptr %inputs, ptr %outputs) {", *w.lines])
        return body + "\n  ret void\n}\n"

    def __call__(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        parts = [np.ravel(inputs[kind])[:size] for kind, size in self._kinds.items()]
        flat = np.concatenate([np.zeros(0), *parts]).astype(np.float64, copy=False)
        result = np.empty(self._count)
        self._function(flat.ctypes.data, result.ctypes.data)
        return result
