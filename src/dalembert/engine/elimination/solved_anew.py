"""Systems that Newton's iteration factorises anew every time: as a band, or in fronts."""

from __future__ import annotations

import numpy as np

from ..values.array_values import ArrayValues
from .array_pivots import Matrix
from .banded import MOST_WORK, Band, band_of
from .fronts import Fronts, fronts_of

#: A band takes its operations on vectors in a half to a quarter of the time that fronts take: they lie in a row, and
#: zeros are left out. (Chains, 100 times 12 unknowns: 3900 a microsecond and 2000; nets, 20 x 20: 11,000 and 2800.)
BAND_SPEED = 2.0
#: Unknowns from which on fronts, which take seconds to find, are not looked for where there is a band.
FRONTS_UP_TO = 20_000


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
    if band is not None and len(unknowns) > FRONTS_UP_TO:
        return band, np.concatenate([right[band.rows], system.nodes[band.entries]])
    fronts = fronts_of(rows, columns, values(system.nodes), scales)
    if band is not None and band.cost <= BAND_SPEED * fronts.cost:
        return band, np.concatenate([right[band.rows], system.nodes[band.entries]])
    if fronts.work > MOST_WORK * len(unknowns):
        return None
    return fronts, np.concatenate([right[fronts.rows], system.nodes])
