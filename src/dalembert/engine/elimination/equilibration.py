"""Before anything is eliminated: whether every equation and every unknown has entries, and how large these are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import ModelError
from ..program.columns import LargestOf
from ..program.program import Values


@dataclass(frozen=True)
class Scaling:
    """Factors that bring the largest sampled entry of every row and column of the Jacobian to about one."""

    rows: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, values: Values, jacobian: list[dict[int, int]], n: int) -> Scaling:
        rows, columns = places(jacobian)
        sizes = [_largest(values[node]) for row in jacobian for node in row.values()]
        return cls.of_entries(np.array(sizes), rows, columns, n)

    @classmethod
    def of_entries(cls, sizes: np.ndarray, rows: np.ndarray, columns: np.ndarray, n: int) -> Scaling:
        """From the largest sampled size of every entry."""
        in_row, in_column = LargestOf(rows, n), LargestOf(columns, n)
        row_scale, column_scale = np.ones(n), np.ones(n)
        for _ in range(12):
            current = row_scale[rows] * sizes * column_scale[columns]
            row_scale = row_scale / np.sqrt(_or_one(in_row(current)))
            column_scale = column_scale / np.sqrt(_or_one(in_column(current)))
        return cls(row_scale, column_scale)


def _or_one(sizes: np.ndarray) -> np.ndarray:
    return np.where(sizes > 0, sizes, 1.0)


def _largest(value) -> float:
    finite = np.abs(np.atleast_1d(np.asarray(value, dtype=np.float64)))
    finite = finite[np.isfinite(finite)]
    return float(finite.max()) if finite.size else 1.0


def places(jacobian: list[dict[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every entry."""
    rows = np.repeat(np.arange(len(jacobian)), [len(row) for row in jacobian])
    return rows, np.array([j for row in jacobian for j in row], dtype=np.int64)


def check_structure(rows: np.ndarray, columns: np.ndarray, n: int, names) -> None:
    """Refuse an equation without unknowns and an unknown without equations."""
    unknown_names, equation_names = names
    empty = np.flatnonzero(np.bincount(rows, minlength=n) == 0)
    if len(empty):
        raise ModelError(f"structurally singular: the equation {equation_names[empty[0]]!r} contains no unknown.")
    missing = np.flatnonzero(np.bincount(columns, minlength=n) == 0)
    if len(missing):
        raise ModelError(f"structurally singular: no equation depends on the unknown {unknown_names[missing[0]]!r}.")
