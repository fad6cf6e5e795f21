"""What happens to a quantity that should be conserved: does it stay, wander, or drift?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arguments import floats
from ..errors import InputError

#: Blocks over which values are averaged before a line is fitted, so that oscillations do not look like drift.
BLOCKS = 32
#: The shortest window of the growth exponent is this part of the whole.
SHORTEST_WINDOW = 1 / 16


@dataclass(frozen=True)
class Drift:
    """`slope` per unit time with its standard error, and the largest deviation from the first value.

    `growth_exponent` tells how the range of the values grows with time: 0 bounded, 0.5 a random walk, 1 a
    drift.
    """

    slope: float
    standard_error: float
    max_deviation: float
    growth_exponent: float


def drift(t, values) -> Drift:
    """How a scalar quantity drifts over the times t.

    The slope is that of a line fitted to the means of `BLOCKS` blocks of equal length; its standard error
    comes from the scatter of these means about the line, so correlations within a block do not make it look
    better than it is. The growth exponent is the slope of log(range) against log(length), over windows of
    length T, T/2, T/4, T/8, T/16; the range max - min is averaged over the disjoint windows of one length.
    Values that are constant give 0.
    """
    t, values = floats("t", t, finite=True), floats("values", values, finite=True)
    if t.ndim != 1 or t.shape != values.shape:
        raise InputError(f"drift expects t and values of one shape (k,), got {t.shape} and {values.shape}.")
    if len(t) < 4 * BLOCKS:
        raise InputError(f"drift needs at least {4 * BLOCKS} values, got {len(t)}; save more states.")
    if not np.all(np.diff(t) >= 0) or t[0] == t[-1]:
        raise InputError("drift expects times t that never decrease and span more than one moment.")
    deviation = values - values[0]
    times = np.array([np.mean(block) for block in np.array_split(t, BLOCKS)])
    means = np.array([np.mean(block) for block in np.array_split(deviation, BLOCKS)])
    centred = times - np.mean(times)
    slope = centred @ means / (centred @ centred)
    scatter = means - np.mean(means) - slope * centred
    standard_error = np.sqrt(scatter @ scatter / (BLOCKS - 2) / (centred @ centred))
    return Drift(
        slope=float(slope),
        standard_error=float(standard_error),
        max_deviation=float(np.max(np.abs(deviation))),
        growth_exponent=_growth_exponent(deviation),
    )


def _growth_exponent(values: np.ndarray) -> float:
    if np.ptp(values) == 0.0:
        return 0.0
    lengths, ranges = [], []
    windows = 1
    while windows * SHORTEST_WINDOW <= 1 and len(values) // windows >= 4:
        length = len(values) // windows
        parts = values[: length * windows].reshape(windows, length)
        lengths.append(length)
        ranges.append(np.mean(np.ptp(parts, axis=1)))
        windows *= 2
    smallest = np.finfo(float).tiny
    return float(np.polyfit(np.log(lengths), np.log(np.maximum(ranges, smallest)), 1)[0])
