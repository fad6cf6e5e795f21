"""Outlines of bodies, walls and curves for pictures: corners, and the faces between them as tuples of their numbers."""

from __future__ import annotations

import numpy as np

#: Corners of a circle.
ROUND = 32
#: A circle of radius 1 in the plane, (ROUND, 2), its corners as one face, and its edges.
CIRCLE = np.stack([np.cos(2 * np.pi * np.arange(ROUND) / ROUND), np.sin(2 * np.pi * np.arange(ROUND) / ROUND)], axis=1)
DISC = (tuple(range(ROUND)),)
RING = tuple((k, (k + 1) % ROUND) for k in range(ROUND))


def path(count: int, first: int = 0) -> tuple[tuple[int, int], ...]:
    """The edges from each of `count` corners to the next."""
    return tuple((k, k + 1) for k in range(first, first + count - 1))


def net(rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    """The edges of a net of corners, row by row."""
    along = tuple((k, k + 1) for k in range(rows * columns) if (k + 1) % columns)
    return along + tuple((k, k + columns) for k in range((rows - 1) * columns))
