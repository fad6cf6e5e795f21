"""Linear systems inside a traced function (`jax.lax.custom_linear_solve`), eliminated on operations.

A method that is explicit but for a linear system with the structure of the problem (a mass matrix bordered by
constraints) writes it as a function, x -> A x, and a right side. The entries of A are found by applying that function
to symbolic unknowns, pivots are chosen on sampled states as for the equations of a step, and the same matrix with
another right side is not eliminated again. The generated code watches the multipliers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program.array_program import CONST, ArrayProgram
from ..program.levels import WITH_UNKNOWNS
from ..program.program import Program, Values
from ..values.array_values import ArrayValues, Rewriting
from .array_elimination import ArrayFactors, ArrayReduced, largest_sizes
from .array_pivots import Matrix
from .equilibration import Scaling
from .sparse_elimination import Factors, Pivoting


class LinearSystems:
    """Solutions of the linear systems of a program, and the multipliers to be watched."""

    def __init__(self, program: Program, samples: dict) -> None:
        self._program, self._values = program, Values(program, samples)
        self._known: dict[tuple, Factors] = {}
        self.growth: list[int] = []

    @property
    def used(self) -> bool:
        """Whether any was solved."""
        return bool(self._known)

    def solution(self, forms: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Operations of x with A x = right; `forms` are the rows of A as linear forms."""
        rows, n = [self._program.form(node) for node in forms.tolist()], len(forms)
        key = tuple(tuple(sorted(row.items())) for row in rows)
        if key not in self._known:
            scaling = Scaling.of(self._values, rows, n)
            factors = Factors(self._program, rows, range(n), Pivoting(self._values, scaling.rows))
            self._known[key] = factors
            self.growth += factors.multipliers
        found = self._known[key].solve(right.tolist())
        return np.array([found[j] for j in range(n)], dtype=np.int64)


class ArrayLinearSystems:
    """The same for programs in arrays.

    What comes after a solution is built on inputs that stand for it, and gets the solution itself at the end
    (`put_in`). The numbers of a chain's solution lie at different depths, because elimination halves the chain in every
    round; operations of different depths are made apart, and what looks alike would not end up in one loop.
    """

    def __init__(self, program: ArrayProgram, samples: dict[str, np.ndarray]) -> None:
        self._program, self._samples, self._values = program, samples, ArrayValues(program, samples)
        self._known: dict[bytes, ArrayFactors] = {}
        self._growth: list[np.ndarray] = [np.zeros(0, np.int64)]
        self._solutions: dict[bytes, np.ndarray] = {}
        self._solved: list[tuple[np.ndarray, np.ndarray]] = []  # inputs, and the operations they stand for

    def solution(self, forms: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Operations of x with A x = right, or inputs in their place."""
        program = self._program
        entries: Any = program.entries(forms)
        key = b"".join(part.tobytes() for part in entries)
        if key not in self._known:
            matrix = Matrix(len(forms), *entries)
            sizes = largest_sizes(self._values(matrix.nodes))
            scaling = Scaling.of_entries(sizes, matrix.rows, matrix.columns, matrix.size)
            factors = ArrayFactors(program, matrix, self._values, scaling.rows)
            self._known[key] = factors
            self._growth.append(factors.multipliers)
        right_key = key + right.tobytes()
        if right_key not in self._solutions:  # a function may be traced twice
            self._solutions[right_key] = self._with_stand_ins(self._known[key].solve(right))
        return self._solutions[right_key]

    def _with_stand_ins(self, found: np.ndarray) -> np.ndarray:
        program = self._program
        known = program.when[found] < WITH_UNKNOWNS  # forms, and what depends on unknowns, have no stand-ins
        changing = np.flatnonzero(known & (program.code[found] != CONST))
        _, first, which = np.unique(found[changing], return_index=True, return_inverse=True)
        order = np.argsort(first)  # as they come
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        operations = found[changing[first[order]]]
        kind = f"solution {len(self._solved)}"
        self._samples[kind] = self._values(operations)
        stand_ins = program.inputs(kind, len(operations))
        self._solved.append((stand_ins, operations))
        found[changing] = stand_ins[rank[which]]
        return found

    def nodes(self) -> list[np.ndarray]:
        """The operations that `put_in` needs."""
        return [*self._growth, *[nodes for pair in self._solved for nodes in pair]]

    def renumber(self, place: np.ndarray) -> None:
        """Operations have new numbers; nothing can be solved any more."""
        self._growth = [place[nodes] for nodes in self._growth]
        self._solved = [(place[stand_ins], place[operations]) for stand_ins, operations in self._solved]
        self._known, self._solutions = {}, {}

    def put_in(self, reduced: ArrayReduced) -> Rewriting:
        """Put the solutions in the place of the inputs that stand for them; for other operations, what does so."""
        rewrite = Rewriting(self._program, early=True)
        for stand_ins, operations in self._solved:
            rewrite.replace(stand_ins, rewrite(operations))
            reduced.solutions.append(rewrite(stand_ins))
        for block in reduced.blocks:
            block.update, block.growth = rewrite(block.update), rewrite(block.growth)
        reduced.growth = rewrite(np.concatenate([reduced.growth, *self._growth]))
        reduced.solutions[:] = [rewrite(nodes) for nodes in reduced.solutions]
        return rewrite
