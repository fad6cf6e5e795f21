"""Systems that Newton's iteration factorises anew every time: as a band, or in fronts."""

from __future__ import annotations

import numpy as np

from ..tuning import tuning
from ..values.array_values import ArrayValues
from .array_pivots import Matrix
from .banded import Band, band_of
from .fronts import Fronts, fronts_of


def solved_anew(
    system: Matrix, equations: np.ndarray, unknowns: np.ndarray, right: np.ndarray, values: ArrayValues,
    scales: np.ndarray,
) -> tuple[Band | Fronts, np.ndarray] | None:  # fmt: skip
    """How a system is solved, as a band or in fronts, whatever is predicted to be quicker, and the operations of its
    right side and entries in the order in which they are wanted; None if both would take too long."""
    row, column = np.zeros(system.size, np.int64), np.zeros(system.size, np.int64)
    row[equations], column[unknowns] = np.arange(len(equations)), np.arange(len(unknowns))
    rows, columns = row[system.rows], column[system.columns]
    band = band_of(rows, columns, scales)
    if band is not None and len(unknowns) > tuning().fronts_up_to:
        return band, np.concatenate([right[band.rows], system.nodes[band.entries]])
    fronts = fronts_of(rows, columns, values(system.nodes), scales)
    if band is not None and band.cost <= tuning().band_speed * fronts.cost:
        return band, np.concatenate([right[band.rows], system.nodes[band.entries]])
    if fronts.work > tuning().front_work * len(unknowns):
        return None
    return fronts, np.concatenate([right[fronts.rows], system.nodes])
