"""The scalar program of a large system, built an array at a time.

The same list of operations as `Program`, with the same sharing, folding and zeros, but every method takes arrays of
operation numbers and all columns are numpy arrays: a thousand links cost as many Python statements as one. What a
scalar program keeps in dictionaries is kept here in columns, filled when an operation is made: the factor and base
of a multiple (-3 x), how deep an operation lies, and when it can be computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .columns import Column, spread
from .levels import AT_COMPILATION, WITH_UNKNOWNS, level_of_input
from .needed import reachable
from .numbering import labelled
from .operation_table import OperationTable
from .program import BOOLEAN, COMMUTATIVE, MOST_FACTORS, NUMPY

OPERATIONS = ("const", "input", "linear", *NUMPY)
CODE = {name: code for code, name in enumerate(OPERATIONS)}
CONST, INPUT, LINEAR = CODE["const"], CODE["input"], CODE["linear"]
_BOOLEAN = np.array([name in BOOLEAN for name in OPERATIONS])
#: operations at most; their columns would take twelve gigabytes
_MOST = 1 << 28


class ArrayProgram:
    """A growing list of scalar operations; methods that build some return an array of their numbers."""

    in_arrays = True

    def __init__(self, expected: int = 0) -> None:
        """There is room for the expected number of operations, and more is found if there are more."""
        self.code = Column(np.int8)
        self.first, self.second, self.third = Column(np.int32), Column(np.int32), Column(np.int32)
        self.numbers = Column(np.float64)  # of a constant
        self.factor, self.base = Column(np.float64), Column(np.int32)  # -3 x is (-3, x)
        self.depth, self.when = Column(np.int32), Column(np.int8)
        self.truth_value = Column(bool)
        self.batch = Column(np.int32)  # operations that were made together do not need each other
        self._batches = 0
        self.form_key, self.form_coefficient = Column(np.int32), Column(np.int32)
        self.kinds: list[str] = []
        self._inputs: dict[str, np.ndarray] = {}
        self._known: dict = {}  # constants
        self._made_by_key = (self.code, self.first, self.second, self.third, self.depth, self.when)
        self._operations = OperationTable(self._made_by_key, LINEAR + 1, expected)
        for column in (*self._made_by_key, self.numbers, self.factor, self.base, self.truth_value, self.batch):
            column.reserve(expected)
        self.zero, self.one = 0, 1
        self.linear_systems: Any = None  # solves those inside traced functions, where there are samples for pivots
        self.calls: dict = {}  # results of functions that were called, by their arguments
        self.constants(np.array([0.0, 1.0]))

    def __len__(self) -> int:
        return self.code.length

    # -- leaves -------------------------------------------------------------------------------------------------

    def _append(self, code: int, first, second, third, count: int, depth, when) -> np.ndarray:
        for column, values in zip(self._made_by_key, (code, first, second, third, depth, when), strict=True):
            column.extend(values, count)
        return self._complete(count)

    def _complete(self, count: int) -> np.ndarray:
        """The other columns of the last operations; their numbers."""
        if len(self) >= _MOST:
            raise MemoryError("the program of this step has too many operations")
        fresh = np.arange(len(self) - count, len(self))
        for column, values in ((self.factor, 1.0), (self.base, fresh), (self.batch, self._batches)):
            column.extend(values, count)
        for column in (self.numbers, self.truth_value):
            column.extend_by_zeros(count)
        self._batches += 1
        return fresh

    def constants(self, values) -> np.ndarray:
        """Constants, numbers or truth values."""
        values = np.asarray(values)
        truth = values.dtype == np.bool_
        flat = np.ravel(values).astype(np.float64).view(np.int64)
        where, first = labelled(flat)
        unique = flat[first]
        ids = [self._known.get((truth, bits)) for bits in unique.tolist()]
        missing = [k for k, found in enumerate(ids) if found is None]
        if missing:
            fresh = self._append(CONST, -1, -1, -1, len(missing), 0, AT_COMPILATION)
            self.numbers.filled[fresh], self.truth_value.filled[fresh] = unique[missing].view(np.float64), truth
            for k, node in zip(missing, fresh.tolist(), strict=True):
                self._known[truth, int(unique[k])] = ids[k] = node
        return np.array(ids, dtype=np.int64)[where].reshape(values.shape)

    def inputs(self, kind: str, count: int, changing: int = 0) -> np.ndarray:
        """Inputs (kind, 0) ... (kind, count - 1); the first `changing` of some parameters have other values in every
        step of a run."""
        if kind not in self._inputs:
            self.kinds.append(kind)
            when = np.full(count, level_of_input(kind))
            when[:changing] = level_of_input(kind, 0, changing)
            self._inputs[kind] = self._append(INPUT, len(self.kinds) - 1, np.arange(count), -1, count, 0, when)
        return self._inputs[kind]

    def forget_all_but(self, roots: np.ndarray, *, for_good: bool = False) -> np.ndarray:
        """Keep inputs, constants and what the roots need; `for_good` if little will come after that. A column of new
        numbers; -1 where an operation is gone."""
        wanted = np.zeros(len(self), bool)
        wanted[self.needed(roots)] = True
        wanted |= (self.code.filled == INPUT) | (self.code.filled == CONST)
        kept, place = np.flatnonzero(wanted), np.full(len(self) + 1, -1, np.int32)  # the last: of no argument at all
        place[kept] = np.arange(len(kept))
        for column in (*self._made_by_key, self.numbers, self.factor, self.base, self.truth_value, self.batch):
            column.keep(kept, tight=for_good)
        arguments = self.code.filled > LINEAR
        for column in (self.first, self.second, self.third):
            column.filled[arguments] = place[column.filled[arguments]]
        self.base.filled[:] = place[self.base.filled]
        self.form_key, self.form_coefficient = Column(np.int32), Column(np.int32)
        self._inputs = {kind: place[nodes] for kind, nodes in self._inputs.items()}
        self._known = {key: int(place[node]) for key, node in self._known.items()}
        self.calls.clear()
        self._operations.start_again(tight=for_good)
        return place

    # -- linear forms -------------------------------------------------------------------------------------------

    def differentials(self, count: int) -> np.ndarray:
        """The forms dx_0 ... dx_(count - 1)."""
        return self._forms(count, np.arange(count), np.arange(count), np.ones(count, np.int64))

    def _forms(self, count: int, rows, keys, coefficients) -> np.ndarray:
        """One form a row from its entries, which are sorted by row; zero where a form is empty."""
        kept = coefficients != self.zero
        rows, keys, coefficients = rows[kept], keys[kept], coefficients[kept]
        lengths = np.bincount(rows, minlength=count)
        starts = self.form_key.length + np.cumsum(lengths) - lengths
        self.form_key.extend(keys, len(keys))
        self.form_coefficient.extend(coefficients, len(keys))
        out = np.zeros(count, np.int64)
        some = lengths > 0
        out[some] = self._append(LINEAR, starts[some], lengths[some], -1, int(some.sum()), 0, WITH_UNKNOWNS)
        return out

    def entries(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(row, key, coefficient) of all entries of some forms; other operations count as empty."""
        lengths = np.where(self.code[nodes] == LINEAR, self.second[nodes], 0)
        rows, places = spread(self.first[nodes], lengths)
        return rows, self.form_key[places].astype(np.int64), self.form_coefficient[places].astype(np.int64)

    def _scaled_forms(self, forms: np.ndarray, factors: np.ndarray) -> np.ndarray:
        rows, keys, coefficients = self.entries(forms)
        return self._forms(len(forms), rows, keys, self.mul(coefficients, factors[rows]))

    def _combined(self, a: np.ndarray, b: np.ndarray, negative: bool) -> np.ndarray:
        """a + b or a - b of forms."""
        rows_a, keys_a, nodes_a = self.entries(a)
        rows_b, keys_b, nodes_b = self.entries(b)
        if negative:
            nodes_b = self.neg(nodes_b)
        rows, keys = np.concatenate([rows_a, rows_b]), np.concatenate([keys_a, keys_b])
        nodes = np.concatenate([nodes_a, nodes_b])
        order = np.argsort((rows << 32) | keys, kind="stable")  # which merges two sorted runs
        rows, keys, nodes = rows[order], keys[order], nodes[order]
        twice = np.flatnonzero((rows[1:] == rows[:-1]) & (keys[1:] == keys[:-1]))
        nodes[twice] = self.add(nodes[twice], nodes[twice + 1])
        kept = np.ones(len(rows), bool)
        kept[twice + 1] = False
        return self._forms(len(a), rows[kept], keys[kept], nodes[kept])

    # -- operations ---------------------------------------------------------------------------------------------

    def apply(self, op: str, *arguments) -> np.ndarray:
        """Any operation, simplified where it has a rule."""
        rule = _RULES.get(op)
        return rule(self, *arguments) if rule is not None else self._plain(op, *arguments)

    def _plain(self, op: str, *arguments) -> np.ndarray:
        """Constants folded, equal operations shared."""
        arrays = np.broadcast_arrays(*[np.asarray(a, dtype=np.int64) for a in arguments])
        shape, flat = arrays[0].shape, [a.ravel() for a in arrays]
        known = np.logical_and.reduce([self.code[a] == CONST for a in flat])
        if not known.any():
            return self._shared(op, flat).reshape(shape)
        out = np.zeros(len(known), np.int64)
        if not known.all():
            out[~known] = self._shared(op, [a[~known] for a in flat])
        numbers = [self.numbers[a[known]] for a in flat]
        if self.truth_value[flat[0][known]].any():  # the condition of a choice
            numbers[0] = numbers[0].astype(bool)
        with np.errstate(all="ignore"):
            out[known] = self.constants(NUMPY[op](*numbers))
        return out.reshape(shape)

    def _shared(self, op: str, flat: list[np.ndarray]) -> np.ndarray:
        ids, new = self._operations.share(CODE[op], flat, commutes=len(flat) == 2 and op in COMMUTATIVE)
        if len(new):  # they keep the order of the arrays
            fresh = self._complete(len(new))
            if op == "neg":
                of = flat[0][new]
                self.factor.filled[fresh], self.base.filled[fresh] = -self.factor[of], self.base[of]
            elif op == "mul":
                self._note_multiples(fresh)
        return ids

    def _note_multiples(self, fresh: np.ndarray) -> None:
        first, second = self.first[fresh], self.second[fresh]
        for scale, other in ((first, second), (second, first)):
            constant = self.code[scale] == CONST
            if constant.any():
                self.factor.filled[fresh[constant]] = self.numbers[scale[constant]]
                self.base.filled[fresh[constant]] = other[constant]

    def _routed(self, arguments, rules) -> np.ndarray:
        """Each element by the first rule (condition, result) that holds for it; both are functions of arrays."""
        arrays = np.broadcast_arrays(*[np.asarray(a, dtype=np.int64) for a in arguments])
        shape, flat = arrays[0].shape, [a.ravel() for a in arrays]
        out = np.empty(len(flat[0]), np.int64)
        left: np.ndarray | None = None
        for condition, result in rules:
            if len(flat[0]) == 0:
                break
            if condition is None:
                holds = None
            else:
                holds = condition(*flat)
                if not holds.any():
                    continue
                if holds.all():
                    holds = None
            if holds is None:
                values = result(*flat)
                if left is None:
                    return np.asarray(np.broadcast_to(values, (len(flat[0]),)), dtype=np.int64).reshape(shape)
                out[left] = values
                break
            where = np.flatnonzero(holds)
            rest = np.flatnonzero(~holds)
            out[where if left is None else left[where]] = result(*[a[where] for a in flat])
            left = rest if left is None else left[rest]
            flat = [a[rest] for a in flat]
        return out.reshape(shape)

    def _is(self, code: int, nodes) -> np.ndarray:
        return self.code[nodes] == code

    def scaled(self, factors, nodes) -> np.ndarray:
        """factors * nodes for known factors."""
        return self.mul(self.constants(factors), nodes)

    def add(self, a, b) -> np.ndarray:
        return self._routed((a, b), (
            (lambda a, b: a == self.zero, lambda a, b: b),
            (lambda a, b: b == self.zero, lambda a, b: a),
            (lambda a, b: self._is(LINEAR, a) | self._is(LINEAR, b), lambda a, b: self._combined(a, b, False)),
            (self._one_base, lambda a, b: self.scaled(self.factor[a] + self.factor[b], self.base[a])),
            (lambda a, b: self._is(CODE["neg"], b), lambda a, b: self.sub(a, self.first[b])),
            (lambda a, b: self._is(CODE["neg"], a), lambda a, b: self.sub(b, self.first[a])),
            (lambda a, b: self._absorbs(a, b),
             lambda a, b: self.sub(self.add(a, self.first[b]), self.second[b])),
            (lambda a, b: self._absorbs(b, a),
             lambda a, b: self.sub(self.add(b, self.first[a]), self.second[a])),
            (None, lambda a, b: self._plain("add", a, b)),
        ))  # fmt: skip

    def _one_base(self, a, b) -> np.ndarray:
        return (self.base[a] == self.base[b]) & ~self._is(CONST, self.base[a])

    def _absorbs(self, x, y) -> np.ndarray:
        """x + (x' - z) with x, x' multiples of one thing."""
        found = self._is(CODE["sub"], y)
        found[found] = self.base[self.first[y[found]]] == self.base[x[found]]
        return found & ~self._is(CONST, x)

    def sub(self, a, b) -> np.ndarray:
        return self._routed((a, b), (
            (lambda a, b: b == self.zero, lambda a, b: a),
            (lambda a, b: a == self.zero, lambda a, b: self.neg(b)),
            (lambda a, b: a == b, lambda a, b: np.zeros(len(a), np.int64)),
            (lambda a, b: self._is(LINEAR, a) | self._is(LINEAR, b), lambda a, b: self._combined(a, b, True)),
            (self._one_base, lambda a, b: self.scaled(self.factor[a] - self.factor[b], self.base[a])),
            (lambda a, b: self._is(CODE["neg"], b), lambda a, b: self.add(a, self.first[b])),
            (None, lambda a, b: self._plain("sub", a, b)),
        ))  # fmt: skip

    def neg(self, a) -> np.ndarray:
        return self._routed((a,), (
            (lambda a: self._is(CONST, a), lambda a: self.constants(0.0 - self.numbers[a])),
            (lambda a: self._is(CODE["neg"], a), lambda a: self.first[a]),
            (lambda a: self._is(CODE["sub"], a), lambda a: self.sub(self.second[a], self.first[a])),
            (lambda a: self._is(LINEAR, a), lambda a: self._scaled_forms(a, self.constants(np.full(len(a), -1.0)))),
            (lambda a: self.factor[a] != 1.0, lambda a: self.scaled(-self.factor[a], self.base[a])),
            (None, lambda a: self._plain("neg", a)),
        ))  # fmt: skip

    def mul(self, a, b) -> np.ndarray:
        return self._routed((a, b), (
            (lambda a, b: self._is_number(0.0, a) | self._is_number(0.0, b), lambda a, b: np.zeros(len(a), np.int64)),
            (lambda a, b: a == self.one, lambda a, b: b),
            (lambda a, b: b == self.one, lambda a, b: a),
            (lambda a, b: self._is(LINEAR, a), self._scaled_forms),
            (lambda a, b: self._is(LINEAR, b), lambda a, b: self._scaled_forms(b, a)),
            (lambda a, b: self._is(CONST, a) & self._is(CONST, b), lambda a, b: self._plain("mul", a, b)),
            (lambda a, b: self._is(CONST, b), lambda a, b: self.mul(b, a)),
            (lambda a, b: self._is(CONST, a) & (self.factor[b] != 1.0),
             lambda a, b: self.scaled(self.numbers[a] * self.factor[b], self.base[b])),
            (lambda a, b: self._is_number(-1.0, a), lambda a, b: self.neg(b)),
            (lambda a, b: (self.factor[a] != 1.0) | (self.factor[b] != 1.0),
             lambda a, b: self.scaled(self.factor[a] * self.factor[b], self.mul(self.base[a], self.base[b]))),
            (None, lambda a, b: self._plain("mul", a, b)),
        ))  # fmt: skip

    def _is_number(self, number: float, nodes) -> np.ndarray:
        return self._is(CONST, nodes) & (self.numbers[nodes] == number)

    def div(self, a, b) -> np.ndarray:
        return self._routed((a, b), (
            (lambda a, b: (a == self.zero) | (b == self.one), lambda a, b: a),
            (self._power_of_two, lambda a, b: self.scaled(1.0 / self.numbers[b], a)),
            (lambda a, b: self._is(LINEAR, a), lambda a, b: self.mul(self.reciprocal(b), a)),
            (lambda a, b: a == b, lambda a, b: np.full(len(a), self.one)),
            (None, lambda a, b: self._plain("div", a, b)),
        ))  # fmt: skip

    def _power_of_two(self, a, b) -> np.ndarray:
        return self._is(CONST, b) & (np.abs(np.frexp(self.numbers[b])[0]) == 0.5)

    def reciprocal(self, a) -> np.ndarray:
        """1 / a."""
        return self.div(self.one, a)

    def power(self, base, exponent: int) -> np.ndarray:
        """base ** exponent for an integer exponent, by repeated squaring (shared between powers)."""
        if exponent < 0:
            return self.reciprocal(self.power(base, -exponent))
        if exponent == 0:
            return np.full(np.shape(base), self.one)
        half = self.power(base, exponent // 2)
        square = self.mul(half, half) if exponent > 1 else np.full(np.shape(base), self.one)
        return self.mul(square, base) if exponent % 2 else square

    def _pow(self, a, b) -> np.ndarray:
        a, b = np.broadcast_arrays(a, b)
        out = self._plain("pow", a, b) if not self._is(CONST, b).all() else np.zeros(np.shape(b), np.int64)
        for node in np.unique(b[self._is(CONST, b)]).tolist():
            exponent, here = float(self.numbers[node]), b == node
            if exponent.is_integer() and abs(exponent) <= MOST_FACTORS:
                out[here] = self.power(a[here], int(exponent))
            elif abs(exponent) == 0.5:
                root = self._plain("sqrt", a[here])
                out[here] = root if exponent > 0 else self.reciprocal(root)
            else:
                out[here] = self._plain("pow", a[here], b[here])
        return out

    def select(self, condition, if_true, if_false) -> np.ndarray:
        return self._routed((condition, if_true, if_false), (
            (lambda c, x, y: self._is(CONST, c), lambda c, x, y: np.where(self.numbers[c] != 0.0, x, y)),
            (lambda c, x, y: x == y, lambda c, x, y: x),
            (lambda c, x, y: self._is(LINEAR, x) | self._is(LINEAR, y), self._chosen_forms),
            (lambda c, x, y: self._is_truth(x) & self._is_truth(y), self._chosen_truth),
            (None, lambda c, x, y: self._plain("select", c, x, y)),
        ))  # fmt: skip

    def _chosen_forms(self, condition, if_true, if_false) -> np.ndarray:
        zero = np.zeros(len(condition), np.int64)
        rows, keys, nodes = self.entries(if_true)
        first = self._forms(len(condition), rows, keys, self.select(condition[rows], nodes, zero[rows]))
        rows, keys, nodes = self.entries(if_false)
        second = self._forms(len(condition), rows, keys, self.select(condition[rows], zero[rows], nodes))
        return self._combined(first, second, False)

    def _chosen_truth(self, condition, if_true, if_false) -> np.ndarray:
        otherwise = self._plain("and", self._plain("not", condition), if_false)
        return self._plain("or", self._plain("and", condition, if_true), otherwise)

    def _is_truth(self, nodes) -> np.ndarray:
        return _BOOLEAN[self.code[nodes]] | self.truth_value[nodes]

    def truth(self, nodes) -> np.ndarray:
        """Truth values, given as such or as the numbers 0 and 1."""
        return self._routed((nodes,), (
            (self._is_truth, lambda a: a),
            (lambda a: self._is(CODE["select"], a) & (self.second[a] == self.one) & (self.third[a] == self.zero),
             lambda a: self.first[a]),
            (None, lambda a: self._plain("ne", a, self.zero)),
        ))  # fmt: skip

    def _eq(self, a, b) -> np.ndarray:
        return self._routed((a, b), (
            (lambda a, b: self._is_truth(a) & self._is_truth(b), lambda a, b: self._plain("not", self._ne(a, b))),
            (None, lambda a, b: self._plain("eq", a, b)),
        ))  # fmt: skip

    def _ne(self, a, b) -> np.ndarray:
        return self._routed((a, b), (
            (lambda a, b: self._is_truth(a) & self._is_truth(b), lambda a, b: self._plain("xor", a, b)),
            (None, lambda a, b: self._plain("ne", a, b)),
        ))  # fmt: skip

    # -- reading ------------------------------------------------------------------------------------------------

    def number(self, node: int) -> float | None:
        """The value of a constant, None for anything else."""
        return self.numbers[node] if self.code[node] == CONST else None

    def arguments(self, nodes: np.ndarray) -> list[np.ndarray]:
        """The columns of arguments; -1 where an operation has fewer."""
        leaf = self.code[nodes] <= LINEAR
        return [np.where(leaf, -1, column[nodes]) for column in (self.first, self.second, self.third)]

    def needed(self, outputs) -> np.ndarray:
        """The operations that the outputs need, in order."""
        return self.reachable(outputs, None)

    def reachable(self, roots, state: np.ndarray | None) -> np.ndarray:
        """Operations that the roots need, in order; only those with a negative state, and not looking behind others."""
        return reachable((self.code, self.first, self.second, self.third), LINEAR + 1, np.ravel(roots), state)

    def layers(self, nodes: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Operations in groups that can be computed together, one kind at a time, each after its arguments."""
        yield from self._groups(nodes, self.depth[nodes].astype(np.int64) * len(OPERATIONS) + self.code[nodes])

    def batches(self, nodes: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """The same in more groups, by what was made together: what is made from them is made together again."""
        yield from self._groups(nodes, self.batch[nodes])

    def _groups(self, nodes: np.ndarray, keys: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        if np.any(keys[1:] < keys[:-1]):
            if keys.max(initial=0) < 1 << 16:
                keys = keys.astype(np.uint16)  # which numpy sorts by counting
            order = np.argsort(keys, kind="stable")
            keys, nodes = keys[order], nodes[order]
        for group in np.split(nodes, np.flatnonzero(keys[1:] != keys[:-1]) + 1):
            if len(group):
                yield OPERATIONS[self.code[group[0]]], group


_RULES: dict[str, Callable] = {
    "add": ArrayProgram.add, "sub": ArrayProgram.sub, "mul": ArrayProgram.mul, "div": ArrayProgram.div,
    "neg": ArrayProgram.neg, "pow": ArrayProgram._pow, "select": ArrayProgram.select, "eq": ArrayProgram._eq,
    "ne": ArrayProgram._ne,
}  # fmt: skip
