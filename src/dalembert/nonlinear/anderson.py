"""Anderson's acceleration of a fixed-point iteration. Importing this module imports numba.

The iteration x <- g(x) leaves the residual f = g(x) - x. With the differences dF, dG of successive f and g(x) as
columns, the combination of the last residuals that is least, in a weighted norm, is taken for the iterates too::

    gamma = argmin |f - dF gamma|,      x_new = g(x) - dG gamma

(D. G. Anderson 1965; H. F. Walker and P. Ni 2011, doi:10.1137/10078356X). Where g is linear this is as good as GMRES
on x - g(x) = 0, so that errors which sweeps over contacts diminish a little in every round vanish in few.

Where g is not linear two things can happen. An iterate is worse than those before: then the iteration goes on from the
best g(x), plainly for a while, and after that with an empty memory. Or |f| stands still above zero: x drifts in a
direction in which the equations hardly change until something else gives way, as when forces that hold each other grow
in a heap until a contact slides. Then x leaps along f, every time farther while |f| stays the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compilation import compiled

#: Of the diagonal of dF^T dF this part is added to it, so that columns which nearly depend on each other do no harm.
RIDGE = 1e-12
#: A change of f that is a smaller part of it says nothing: f stands still, and is not divided by its roundoff.
STANDS = 1e-7
#: An iterate whose |f| is so many times the least one is given up; so are iterates that do not bring |f| below this
#: part of what it was as many iterates ago as the memory holds.
WORSE, PROGRESS = 2.0, 0.7
#: Plain iterations after an iterate that was given up, at most.
MOST_PLAIN = 16
#: The first leap along f, in units of f, how much longer each next one is, and the longest in units of g(x).
FIRST_LEAP, LONGER, LONGEST_LEAP = 64.0, 2.0, 2e-2


class Memory(NamedTuple):
    """The last residuals and what belongs to them; row `k % depth` holds the k-th difference."""

    residual_changes: np.ndarray  # (depth, size), dF, scaled
    image_changes: np.ndarray  # (depth, size), dG
    products: np.ndarray  # (depth, depth), dF^T dF
    last: np.ndarray  # (2, size): f, scaled, and g(x) of the iterate before
    best: np.ndarray  # (size,): g(x) of the iterate with the least |f| since then
    least: np.ndarray  # (3,): that |f|^2, what it was when the memory was full the last time, and at the last leap
    seen: np.ndarray  # (1,): iterates since the memory was empty; below zero, how many are still to be plain
    plain: np.ndarray  # (1,): how many will be plain when an iterate is given up
    leap: np.ndarray  # (1,): how many f the last leap added to g(x)


@compiled
def empty_memory(depth, size):
    """Memory of `depth` differences."""
    return Memory(
        np.empty((depth, size)),
        np.empty((depth, size)),
        np.zeros((depth, depth)),
        np.empty((2, size)),
        np.empty(size),
        np.full(3, np.inf),
        np.zeros(1, dtype=np.int64),
        np.ones(1, dtype=np.int64),
        np.zeros(1),
    )


@compiled
def go_on(memory, x, image, scales):
    """From x and g(x) = `image` to the next iterate, which overwrites x; the norm is that of scales * f."""
    f, least = scales * (image - x), memory.least
    square = np.dot(f, f)
    if memory.seen[0] <= 0 or square < least[0]:
        least[0] = square
        memory.best[:] = image
    if memory.seen[0] < 0:
        memory.seen[0] += 1
        if memory.seen[0] == 0 and square > PROGRESS**2 * least[2]:
            _leap(memory, x, image, scales, square)
        else:
            x[:] = image
            if memory.seen[0] == 0:
                least[2] = square
    elif square > WORSE**2 * least[0]:
        memory.seen[0], least[1] = -memory.plain[0], np.inf
        memory.plain[0] = min(2 * memory.plain[0], MOST_PLAIN)
        x[:] = memory.best
    elif memory.seen[0] > 0 and memory.seen[0] % len(memory.products) == 0 and least[0] > PROGRESS**2 * least[1]:
        _leap(memory, x, image, scales, square)
    else:
        if memory.seen[0] % len(memory.products) == 0:
            least[1] = least[0]
        _extrapolate(memory, x, image, f)


@compiled
def _leap(memory, x, image, scales, square):
    """Far along f, the farther the more often |f| stood still at this size."""
    least, leap = memory.least, memory.leap
    size, improved = scales * image, square < PROGRESS**2 * least[2]
    leap[0] = FIRST_LEAP if improved else LONGER * leap[0]
    if leap[0] ** 2 * square > LONGEST_LEAP**2 * np.dot(size, size):
        leap[0] = FIRST_LEAP
    least[2] = square
    x[:] = image + leap[0] * (image - x)
    memory.seen[0], least[0], least[1] = 0, np.inf, np.inf


@compiled
def _extrapolate(memory, x, image, f):
    """Remember f and g(x), and put g(x) - dG gamma into x."""
    changes, moves, products, last = memory.residual_changes, memory.image_changes, memory.products, memory.last
    seen, depth = memory.seen[0], len(products)
    columns, row = min(seen, depth), (seen - 1) % depth
    x[:] = image
    if seen > 0:
        changes[row], moves[row] = f - last[0], image - last[1]
        products[row, :columns] = np.dot(changes[:columns], changes[row])
        products[:columns, row] = products[row, :columns]
        floor = STANDS**2 * np.dot(f, f)
        gamma = _least(products[:columns, :columns], np.dot(changes[:columns], f), floor)
        for k in range(columns):
            x -= gamma[k] * moves[k]
    last[0], last[1] = f, image
    memory.seen[0] = seen + 1


@compiled
def _least(products, right, floor):
    """(products + floor 1)^-1 right by Cholesky's factorisation, with the diagonal made one and the ridge added."""
    count = len(right)
    length = np.empty(count)
    for k in range(count):
        length[k] = np.sqrt(products[k, k] + floor) if products[k, k] + floor > 0.0 else 1.0
    lower, found = np.zeros((count, count)), np.empty(count)
    for k in range(count):
        for l in range(k + 1):
            total = products[k, l] / (length[k] * length[l]) if k != l else 1.0 + RIDGE
            for m in range(l):
                total -= lower[k, m] * lower[l, m]
            lower[k, l] = np.sqrt(max(total, RIDGE)) if k == l else total / lower[l, l]
    for k in range(count):
        total = right[k] / length[k]
        for m in range(k):
            total -= lower[k, m] * found[m]
        found[k] = total / lower[k, k]
    for k in range(count - 1, -1, -1):
        total = found[k]
        for m in range(k + 1, count):
            total -= lower[m, k] * found[m]
        found[k] = total / lower[k, k]
    for k in range(count):
        found[k] /= length[k]
    return found
