"""What can be seen before a large system is eliminated, at a piece of it: whether it falls into loops, and whether its
derivatives are those of its equations.

Elimination that gives up has done most of its work by then: half a minute for a collocation method of order 6 on ten
thousand links. A piece of neighbouring unknowns, with equations of their own, fills up in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from scipy.sparse import csgraph

from ...errors import ModelError
from ..contract import rounded
from ..program.array_program import ArrayProgram
from ..program.levels import ONCE_A_RUN
from ..values.array_values import ArrayEvaluator
from .array_elimination import Plan, TooIrregular, reduce_arrays
from .block_triangular import matched_rows

#: unknowns of a piece
PIECE = 1500
#: Unknowns are moved by this part of what samples differ by, and residuals must follow their derivatives to this part.
MOVE, AGREEMENT = 1e-5, 1e-2


@dataclass
class Equations:
    """Residuals with their derivatives (output, j, operation), and samples of all inputs; the first is the start."""

    program: ArrayProgram
    residual: np.ndarray
    entries: tuple[np.ndarray, np.ndarray, np.ndarray]
    samples: dict[str, np.ndarray]

    def tried(self) -> TooIrregular | None:
        """How elimination gives up; None if it does not."""
        n = len(self.residual)
        names = tuple(str(k) for k in range(n))
        x = self.program.inputs("x", n)
        try:
            plan = Plan(in_systems=False)
            reduce_arrays(self.program, x, self.residual, self.entries, self.samples, (names, names), plan)
        except TooIrregular as failure:
            return failure
        except ModelError:  # what is wrong with a piece need not be wrong with the whole
            pass
        return None

    def derivatives_hold(self) -> bool:
        """Whether the residuals change with the unknowns as their derivatives say, near the start. Elimination relies
        on it: an unknown that an equation holds behind `jax.lax.stop_gradient` would be taken for a known number."""
        rows, columns, nodes = self.entries
        evaluate = ArrayEvaluator(self.program, np.concatenate([self.residual, nodes]))
        start = {kind: table[:, 0] if table.ndim > 1 else table for kind, table in self.samples.items()}
        n, x, far = len(self.residual), start["x"], self.samples["x"][:, -1] - start["x"]
        random = np.random.default_rng(0)
        here = evaluate(start)[:, 0]
        largest = np.maximum(np.abs(x), MOVE * np.abs(far))[columns] * np.abs(here[n:])
        roundoff = 1e-12 * (np.abs(here[:n]) + np.bincount(rows, largest, minlength=n))
        for _ in range(8):  # and of coordinates far from the origin
            otherwise = {kind: rounded(table, random) for kind, table in start.items()}
            roundoff += 4 * np.abs(evaluate(otherwise)[:n, 0] - here[:n])
        missed, sizes = np.zeros((2, n)), np.zeros(n)
        for k, part in enumerate((MOVE, MOVE / 8)):
            moved = evaluate(start | {"x": x + part * far})[:n, 0]
            terms = here[n:] * (part * far)[columns]
            sizes = np.bincount(rows, np.abs(terms), minlength=n)
            missed[k] = np.abs(moved - here[:n] - np.bincount(rows, terms, minlength=n))
        # what is missed shrinks with the square of the move, if the derivatives are right, to 1/64 and not to 1/8
        wrong = (missed[1] > AGREEMENT * sizes + roundoff) & (missed[1] > missed[0] / 20)
        return not np.any(wrong & np.isfinite(missed[1]) & np.isfinite(sizes))

    def piece(self) -> Equations:
        """Neighbouring unknowns, with equations of their own; what else these hold is known."""
        rows, columns, nodes = self.entries
        own_columns = _neighbours(rows, columns, len(self.residual))
        own_rows = _own_equations(rows, columns, own_columns)
        row_place, column_place = (_places(len(self.residual), own) for own in (own_rows, own_columns))
        inside = (row_place[rows] >= 0) & (column_place[columns] >= 0)
        order = np.lexsort((column_place[columns[inside]], row_place[rows[inside]]))
        kept = np.flatnonzero(inside)[order]
        roots = np.concatenate([self.residual[own_rows], nodes[kept]])
        part, copied, samples = _copied(self.program, roots, column_place, self.samples)
        entries = (row_place[rows[kept]], column_place[columns[kept]], copied[len(own_rows) :])
        return Equations(part, copied[: len(own_rows)], entries, samples)


def _neighbours(rows: np.ndarray, columns: np.ndarray, n: int) -> np.ndarray:
    """Unknowns near one in the middle, by the equations they share; sorted."""
    ones = np.ones(len(rows), np.int8)
    graph = sparse.csr_array((ones, (rows, n + columns)), shape=(2 * n, 2 * n))
    reached = csgraph.breadth_first_order(graph, n + n // 2, directed=False, return_predecessors=False)
    return np.sort(reached[reached >= n][:PIECE]) - n


def _own_equations(rows: np.ndarray, columns: np.ndarray, own_columns: np.ndarray) -> np.ndarray:
    """An equation for every one of these unknowns; sorted. Every set of unknowns has one if all together have."""
    wanted = np.zeros(max(columns.max(), own_columns.max()) + 1, bool)
    wanted[own_columns] = True
    here = np.flatnonzero(wanted[columns])
    here = here[np.argsort(columns[here], kind="stable")]
    near = np.unique(rows[here])
    counts = np.bincount(np.searchsorted(own_columns, columns[here]), minlength=len(own_columns))
    names = ([str(k) for k in range(len(near))], [str(k) for k in range(len(own_columns))])
    match = matched_rows(
        counts, np.searchsorted(near, rows[here]), list(range(len(own_columns))), list(range(len(near))), names
    )
    return np.sort(near[match])


def _places(n: int, own: np.ndarray) -> np.ndarray:
    place = np.full(n, -1)
    place[own] = np.arange(len(own))
    return place


def _copied(
    program: ArrayProgram, roots: np.ndarray, own_unknown: np.ndarray, samples: dict[str, np.ndarray]
) -> tuple[ArrayProgram, np.ndarray, dict[str, np.ndarray]]:
    """The operations that the roots need in a program of their own, the roots in it, and samples of its inputs.
    Unknowns that are not among its own are inputs like the state."""
    needed, part = program.needed(roots), ArrayProgram()
    new = np.full(len(program), -1)
    kinds = np.array(program.kinds)
    inputs = [group for op, group in program.batches(needed) if op == "input"]
    early: list[tuple[np.ndarray, np.ndarray]] = []
    late: list[tuple[np.ndarray, np.ndarray]] = []
    for group in inputs:
        kind, index = str(kinds[program.first[group[0]]]), program.second[group]
        own = own_unknown[index] if kind == "x" else np.full(len(group), -1)
        new[group[own >= 0]] = part.inputs("x", int(own_unknown.max()) + 1)[own[own >= 0]]
        others, table = group[own < 0], samples[kind]
        numbers = table[index[own < 0]]
        if program.when[group[0]] == ONCE_A_RUN:
            early.append((others, numbers))
        else:
            late.append((others, numbers))
    width = samples["x"].shape[1]
    for kind, given in (("parameter", early), ("state", late)):
        nodes = np.concatenate([np.zeros(0, np.int64), *[nodes for nodes, _ in given]])
        new[nodes] = part.inputs(kind, len(nodes))
    part_samples = {
        "x": samples["x"][own_unknown >= 0],
        "parameter": np.concatenate([np.zeros(0), *[numbers for _, numbers in early]]),
        "state": np.concatenate([np.zeros((0, width)), *[numbers for _, numbers in late]]),
    }
    for op, group in program.batches(needed):
        if op == "const":
            for truth in (False, True):
                here = group[program.truth_value[group] == truth]
                new[here] = part.constants(program.numbers[here].astype(bool if truth else np.float64))
        elif op != "input":
            new[group] = part.apply(op, *[new[a] for a in program.arguments(group) if a[0] >= 0])
    return part, new[roots], part_samples
