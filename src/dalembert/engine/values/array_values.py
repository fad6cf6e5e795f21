"""Numbers for the operations of a program in arrays, and operations with some replaced by others."""

from __future__ import annotations

import numpy as np

from ..program.array_program import CONST, INPUT, LINEAR, ArrayProgram
from ..program.columns import Column
from ..program.levels import WITH_UNKNOWNS
from ..program.program import NUMPY
from .compiled_walk import compiled_walk

#: every operation, and how many operands it has
OPERANDS = tuple(
    (op, {"select": 3, "erf": 1, "erfc": 1}.get(op) or getattr(function, "nin", 2)) for op, function in NUMPY.items()
)


class ArrayEvaluator:
    """Numbers for some operations; only what they need is computed. The plan is made once."""

    def __init__(self, program: ArrayProgram, outputs: np.ndarray) -> None:
        needed = program.needed(outputs)
        codes = program.code[needed]
        constants, inputs = needed[codes == CONST], needed[codes == INPUT]
        layers = list(program.layers(needed[codes > LINEAR]))
        # numbered so that the results of a layer lie side by side
        order = np.concatenate([constants, inputs, *(group for _, group in layers)])
        place = np.zeros(len(program), np.int64)
        place[order] = np.arange(len(order))
        self.size, self._outputs = len(order), place[outputs]
        self._constants = place[constants], program.numbers[constants]
        kinds, indices = program.first[inputs], program.second[inputs]
        self._inputs = [
            (kind, place[inputs[kinds == k]], indices[kinds == k])
            for k, kind in enumerate(program.kinds)
            if np.any(kinds == k)
        ]
        self._layers, first = [], len(constants) + len(inputs)
        for op, group in layers:
            arguments = [place[a] for a in program.arguments(group) if a[0] >= 0]
            self._layers.append((op, slice(first, first + len(group)), arguments))
            first += len(group)
        self._compiled: _CompiledWalk | None = None

    def __call__(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        """Outputs along the first axis. `inputs` holds an array for every kind of input; all that have samples have
        them along a second axis."""
        tables = {kind: np.asarray(inputs[kind], dtype=np.float64) for kind, _, _ in self._inputs}
        samples = {table.shape[1] for table in tables.values() if table.ndim > 1} or {1}
        (count,) = samples - {1} or {1}
        if count == 1:  # one axis is much quicker to index than two
            return self._walk({kind: table.reshape(-1) for kind, table in tables.items()}, ())[:, None]
        return self._walk(tables, (count,))

    def _walk(self, tables: dict[str, np.ndarray], samples: tuple[int, ...]) -> np.ndarray:
        values = np.empty((self.size, *samples))
        where, numbers = self._constants
        values[where] = numbers[:, None] if samples else numbers
        for kind, where, indices in self._inputs:
            table = tables[kind]
            values[where] = table[indices] if table.ndim == values.ndim else table[indices, None]
        if not samples:
            if self._compiled is None:
                self._compiled = _CompiledWalk(self._layers, self.size)
            self._compiled(values)
            return values[self._outputs]
        with np.errstate(all="ignore"):
            for op, where, arguments in self._layers:
                operands = [values.take(a, axis=0) for a in arguments]
                if op == "select":
                    operands[0] = operands[0] != 0.0
                values[where] = NUMPY[op](*operands)
        return values[self._outputs]


class _CompiledWalk:
    """The layers of an evaluator as segments for `llvm_walk.py`."""

    def __init__(self, layers: list[tuple], size: int) -> None:
        codes = {op: code for code, (op, _) in enumerate(OPERANDS)}
        self._codes = np.array([codes[op] for op, _, _ in layers], dtype=np.int32)
        self._firsts = np.array([where.start for _, where, _ in layers], dtype=np.int64)
        self._lasts = np.array([where.stop for _, where, _ in layers], dtype=np.int64)
        self._places = np.zeros((3, size), dtype=np.int32)
        for _, where, arguments in layers:
            for row, places in zip(self._places, arguments, strict=False):
                row[where] = places
        self._walk = compiled_walk(OPERANDS)

    def __call__(self, values: np.ndarray) -> None:
        tables = (values, self._codes, self._firsts, self._lasts)
        self._walk(*(t.ctypes.data for t in tables), len(self._codes), *(row.ctypes.data for row in self._places))


class ArrayValues:
    """Numbers for operations at sampled inputs, {kind: (count, samples)}; what was computed is kept."""

    def __init__(self, program: ArrayProgram, inputs: dict[str, np.ndarray]) -> None:
        self._program, self._inputs = program, inputs
        self._samples = next(table.shape[1] for table in inputs.values() if table.ndim > 1)
        # numbers in a row: the walk takes vectors whose sizes are powers of two
        self._lanes = 1 << (self._samples - 1).bit_length()
        self._place = Column(np.int32)  # the row of an operation
        self._numbers = Column(np.float64)  # row after row

    def __call__(self, nodes: np.ndarray) -> np.ndarray:
        """One row an operation, one column a sample."""
        program, lanes = self._program, self._lanes
        self._place.extend(-1, len(program) - self._place.length)
        place = self._place.filled
        new = program.reachable(nodes, place)
        if len(new):
            first = self._numbers.length // lanes
            place[new] = np.arange(first, first + len(new))
            self._numbers.reserve(len(new) * lanes)
            self._numbers.length += len(new) * lanes
            self._compute(new, first)
        return self._numbers.filled.reshape(-1, lanes)[place[nodes], : self._samples]

    def _compute(self, new: np.ndarray, first: int) -> None:
        """Rows from `first` on. Operations come after their arguments; a segment of the walk is what follows each other
        and is of one kind."""
        program, place, numbers = self._program, self._place.filled, self._numbers.filled
        codes, table = program.code[new], numbers.reshape(-1, self._lanes)
        constants, inputs = np.flatnonzero(codes == CONST), np.flatnonzero(codes == INPUT)
        table[first + constants] = program.numbers[new[constants]][:, None]
        if len(inputs):
            table[first + inputs, : self._samples] = self._of_inputs(new[inputs])
        edges = np.flatnonzero(np.diff(codes)) + 1
        starts, ends = np.concatenate([[0], edges]), np.concatenate([edges, [len(new)]])
        kinds = codes[starts].astype(np.int32) - (LINEAR + 1)
        computed = kinds >= 0
        tables = (numbers, kinds[computed], first + starts[computed], first + ends[computed])
        operands = [place[np.maximum(a, 0)] for a in program.arguments(new)]
        before = first * operands[0].itemsize  # the walk looks for operands at the rows of their operations
        compiled_walk(OPERANDS, self._lanes)(
            *(t.ctypes.data for t in tables), len(tables[1]), *(a.ctypes.data - before for a in operands)
        )

    def _of_inputs(self, group: np.ndarray) -> np.ndarray:
        program, result = self._program, np.empty((len(group), self._samples))
        kinds, indices = program.first[group], program.second[group]
        for k, kind in enumerate(program.kinds):
            here = kinds == k
            if here.any():
                table = self._inputs[kind]
                result[here] = table[indices[here]] if table.ndim > 1 else table[indices[here], None]
        return result


class Rewriting:
    """Operations with some replaced by others; what was rewritten is remembered.

    Only unknowns are replaced, and what depends on none stays as it is, unless `early`.
    """

    def __init__(self, program: ArrayProgram, *, early: bool = False) -> None:
        self._program, self._early = program, early
        self._new = Column(np.int32)
        self._grow()

    def replace(self, old: np.ndarray, new: np.ndarray) -> None:
        self._grow()
        self._new.filled[old] = new

    def _grow(self) -> None:
        first, last = self._new.length, len(self._program)
        fresh = np.arange(first, last, dtype=np.int32)
        if self._early:
            fresh[:] = -1
        else:
            fresh[self._program.when.filled[first:] == WITH_UNKNOWNS] = -1
        self._new.extend(fresh, last - first)

    def __call__(self, roots: np.ndarray) -> np.ndarray:
        program = self._program
        self._grow()
        new = self._new.filled
        for op, group in program.batches(program.reachable(roots, new)):
            if op in ("const", "input"):
                new[group] = group
                continue
            old = [a for a in program.arguments(group) if a[0] >= 0]
            replaced = [new[a] for a in old]
            same = np.logical_and.reduce([a == b for a, b in zip(old, replaced, strict=True)])
            new[group] = group
            if not same.all():
                new[group[~same]] = program.apply(op, *[a[~same] for a in replaced])
        return new[roots].astype(np.int64)
