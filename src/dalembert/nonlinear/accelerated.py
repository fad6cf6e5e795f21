"""Accelerated sweeps over contacts whose matrix is given by blocks. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from .active_set import LARGEST_GROWTH
from .anderson import empty_memory, go_on
from .compilation import compiled
from .sweeps import in_cones, natural_residual, sweep

#: Residuals of earlier iterates that are combined.
DEPTH = 6


@compiled
def accelerated_sweeps(starts, columns, blocks, diagonal, b, mu, r, sweeps, tolerance):
    """Gauss-Seidel accelerated by Anderson's method, until the residual is at most `tolerance`; `r` is overwritten by
    the best impulses found. Returns the number of sweeps.

    Many arguments: compiled by numba, which takes arrays and numbers, no records.
    """
    memory, scales = empty_memory(DEPTH, r.size), np.ones(r.size)
    x, image, done = in_cones(r, mu), np.empty_like(r), 0
    least = residual = natural_residual(starts, columns, blocks, b, mu, x, LARGEST_GROWTH)
    r[:] = x
    while residual > tolerance and done < sweeps:
        image[:] = x
        sweep(starts, columns, blocks, diagonal, b, mu, image, 1, 0.0)
        done += 1
        go_on(memory, x.ravel(), image.ravel(), scales)
        x = in_cones(x, mu)
        residual = natural_residual(starts, columns, blocks, b, mu, x, LARGEST_GROWTH)
        if residual < least:
            least = residual
            r[:] = x
    return done
