"""Contacts of many spheres with each other and with planes: candidates by cells, and sweeps that form no matrix.

Contact c has the first body i, the second body j, and the unit normal n from i to j; a plane is a first body that does
not move. With the arms r_j n and r_i n, the velocity of j relative to i where they touch is::

    U = v_j - v_i - (r_j w_j + r_i w_i) x n

An impulse P = P_n n + P_t on j, and -P on i, changes it by::

    n . dU = a P_n,      dU_t = b P_t,      a = 1/m_i + 1/m_j,      b = a + r_i^2/I_i + r_j^2/I_j

so that each contact is solved in closed form for its own impulse. Velocities are kept up to date instead of the matrix
W that joins all contacts: a sweep costs as much as there are contacts. Importing this module imports numba.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .compilation import compiled

#: Cells of the grid per sphere, at most.
CELLS_PER_SPHERE = 8


class Bodies(NamedTuple):
    """Spheres, and planes n . x >= offset."""

    radius: np.ndarray  # (N,)
    inverse_mass: np.ndarray  # (N,)
    inverse_inertia: np.ndarray  # (N,)
    normals: np.ndarray  # (planes, 3)
    offsets: np.ndarray  # (planes,)


@compiled
def _cell_of(x, low, edge, shape):
    return min(max(int((x - low) / edge), 0), shape - 1)


@compiled
def candidates(centres, radius, reach):
    """All pairs i < j of spheres with |x_i - x_j| <= r_i + r_j + reach, (pairs, 2), by a grid of cells.

    The edge of a cell is at least as long as the largest such distance, so that partners lie in neighbouring cells.
    """
    count = len(radius)
    low, high = np.empty(3), np.empty(3)
    for k in range(3):
        low[k], high[k] = np.min(centres[:, k]), np.max(centres[:, k])
    edge = 2.0 * np.max(radius) + reach
    shape = np.empty(3, dtype=np.int64)
    while True:  # in a wide and empty space the cells are larger than need be
        cells = 1.0
        for k in range(3):
            cells *= np.floor((high[k] - low[k]) / edge) + 1.0
        if cells <= CELLS_PER_SPHERE * count + 27.0:
            break
        edge *= 1.26
    for k in range(3):
        shape[k] = int((high[k] - low[k]) / edge) + 1
    total = shape[0] * shape[1] * shape[2]
    cell = np.empty(count, dtype=np.int64)
    starts = np.zeros(total + 1, dtype=np.int64)
    for i in range(count):
        a = _cell_of(centres[i, 0], low[0], edge, shape[0])
        b = _cell_of(centres[i, 1], low[1], edge, shape[1])
        c = _cell_of(centres[i, 2], low[2], edge, shape[2])
        cell[i] = (a * shape[1] + b) * shape[2] + c
        starts[cell[i] + 1] += 1
    for k in range(total):
        starts[k + 1] += starts[k]
    members, filled = np.empty(count, dtype=np.int64), starts[:-1].copy()
    for i in range(count):
        members[filled[cell[i]]] = i
        filled[cell[i]] += 1
    found = np.empty((8 * count + 8, 2), dtype=np.int64)
    pairs = 0
    for i in range(count):
        c = cell[i] % shape[2]
        b = cell[i] // shape[2] % shape[1]
        a = cell[i] // (shape[2] * shape[1])
        for x in range(max(a - 1, 0), min(a + 2, shape[0])):
            for y in range(max(b - 1, 0), min(b + 2, shape[1])):
                for z in range(max(c - 1, 0), min(c + 2, shape[2])):
                    k = (x * shape[1] + y) * shape[2] + z
                    for m in range(starts[k], starts[k + 1]):
                        j = members[m]
                        if j > i:
                            limit, square = radius[i] + radius[j] + reach, 0.0
                            for e in range(3):
                                square += (centres[i, e] - centres[j, e]) ** 2
                            if square <= limit * limit:
                                if pairs == len(found):
                                    more = np.empty((2 * pairs, 2), dtype=np.int64)
                                    more[:pairs] = found
                                    found = more
                                found[pairs, 0], found[pairs, 1] = i, j
                                pairs += 1
    return found[:pairs]


@compiled
def near_planes(centres, radius, normals, offsets, reach):
    """All (-1 - plane, sphere) with a distance of at most `reach`."""
    found = np.empty((len(radius) * len(offsets), 2), dtype=np.int64)
    pairs = 0
    for k in range(len(offsets)):
        for i in range(len(radius)):
            if np.dot(normals[k], centres[i]) - offsets[k] - radius[i] <= reach:
                found[pairs, 0], found[pairs, 1] = -1 - k, i
                pairs += 1
    return found[:pairs]


@compiled
def geometry(pairs, centres, bodies):
    """Normals, (contacts, 3), and gaps."""
    normal, gap = np.empty((len(pairs), 3)), np.empty(len(pairs))
    for c in range(len(pairs)):
        i, j = pairs[c, 0], pairs[c, 1]
        if i < 0:
            normal[c] = bodies.normals[-1 - i]
            gap[c] = np.dot(normal[c], centres[j]) - bodies.offsets[-1 - i] - bodies.radius[j]
        else:
            x, y, z = centres[j, 0] - centres[i, 0], centres[j, 1] - centres[i, 1], centres[j, 2] - centres[i, 2]
            length = np.sqrt(x * x + y * y + z * z)
            normal[c, 0], normal[c, 1], normal[c, 2] = x / length, y / length, z / length
            gap[c] = length - bodies.radius[i] - bodies.radius[j]
    return normal, gap


@compiled
def _relative(c, pairs, normal, velocity, bodies):
    """U of one contact; rows of `velocity` are (v, w)."""
    i, j = pairs[c, 0], pairs[c, 1]
    r = bodies.radius[j]
    x, y, z = r * velocity[j, 3], r * velocity[j, 4], r * velocity[j, 5]
    u, v, w = velocity[j, 0], velocity[j, 1], velocity[j, 2]
    if i >= 0:
        r = bodies.radius[i]
        x, y, z = x + r * velocity[i, 3], y + r * velocity[i, 4], z + r * velocity[i, 5]
        u, v, w = u - velocity[i, 0], v - velocity[i, 1], w - velocity[i, 2]
    n_x, n_y, n_z = normal[c, 0], normal[c, 1], normal[c, 2]
    return u - (y * n_z - z * n_y), v - (z * n_x - x * n_z), w - (x * n_y - y * n_x)


@compiled
def _push(c, pairs, normal, x, y, z, velocity, bodies):
    """The change of the velocities by an impulse on the second body of a contact, and its opposite on the first."""
    i, j = pairs[c, 0], pairs[c, 1]
    n_x, n_y, n_z = normal[c, 0], normal[c, 1], normal[c, 2]
    p, q, r = n_y * z - n_z * y, n_z * x - n_x * z, n_x * y - n_y * x  # n x P
    m, turn = bodies.inverse_mass[j], bodies.radius[j] * bodies.inverse_inertia[j]
    velocity[j, 0] += m * x
    velocity[j, 1] += m * y
    velocity[j, 2] += m * z
    velocity[j, 3] -= turn * p
    velocity[j, 4] -= turn * q
    velocity[j, 5] -= turn * r
    if i >= 0:
        m, turn = bodies.inverse_mass[i], bodies.radius[i] * bodies.inverse_inertia[i]
        velocity[i, 0] -= m * x
        velocity[i, 1] -= m * y
        velocity[i, 2] -= m * z
        velocity[i, 3] -= turn * p
        velocity[i, 4] -= turn * q
        velocity[i, 5] -= turn * r


@compiled
def mobilities(pairs, bodies):
    """a and b of every contact."""
    normal, tangential = np.empty(len(pairs)), np.empty(len(pairs))
    for c in range(len(pairs)):
        i, j = pairs[c, 0], pairs[c, 1]
        a, b = bodies.inverse_mass[j], bodies.radius[j] ** 2 * bodies.inverse_inertia[j]
        if i >= 0:
            a, b = a + bodies.inverse_mass[i], b + bodies.radius[i] ** 2 * bodies.inverse_inertia[i]
        normal[c], tangential[c] = a, a + b
    return normal, tangential


@compiled
def relative(pairs, normal, velocity, bodies):
    """U of every contact, (contacts, 3)."""
    found = np.empty((len(pairs), 3))
    for c in range(len(pairs)):
        found[c, 0], found[c, 1], found[c, 2] = _relative(c, pairs, normal, velocity, bodies)
    return found


@compiled
def with_impulses(pairs, normal, impulse, free, bodies):
    """The velocities that impulses make of the free ones."""
    velocity = free.copy()
    for c in range(len(pairs)):
        _push(c, pairs, normal, impulse[c, 0], impulse[c, 1], impulse[c, 2], velocity, bodies)
    return velocity


@compiled
def joined_blocks(pairs, normal, bodies, count):
    """W by rows of 3 x 3 blocks in the axes of space: starts, columns, blocks; `count` is that of the spheres.

    W_cd is the change of U_c by a unit impulse of d, which share a sphere or two.
    """
    total = len(pairs)
    of_body = np.zeros(count + 1, dtype=np.int64)
    for c in range(total):
        for e in range(2):
            if pairs[c, e] >= 0:
                of_body[pairs[c, e] + 1] += 1
    for k in range(count):
        of_body[k + 1] += of_body[k]
    filled, members = of_body[:-1].copy(), np.empty(of_body[-1], dtype=np.int64)
    for c in range(total):
        for e in range(2):
            k = pairs[c, e]
            if k >= 0:
                members[filled[k]] = c
                filled[k] += 1
    starts = np.zeros(total + 1, dtype=np.int64)
    mark = np.full(total, -1, dtype=np.int64)
    for c in range(total):
        found = 0
        for e in range(2):
            k = pairs[c, e]
            if k >= 0:
                for m in range(of_body[k], of_body[k + 1]):
                    if mark[members[m]] != c:
                        mark[members[m]] = c
                        found += 1
        starts[c + 1] = starts[c] + found
    columns, blocks = np.empty(starts[-1], dtype=np.int64), np.zeros((starts[-1], 3, 3))
    mark[:] = -1
    velocity = np.zeros((count, 6))
    for c in range(total):
        place = starts[c]
        for e in range(2):
            k = pairs[c, e]
            if k >= 0:
                for m in range(of_body[k], of_body[k + 1]):
                    if mark[members[m]] != c:
                        mark[members[m]] = c
                        columns[place] = members[m]
                        place += 1
        columns[starts[c] : place] = np.sort(columns[starts[c] : place])
        for m in range(starts[c], place):
            d = columns[m]
            i, j = pairs[d, 0], pairs[d, 1]
            for k in range(3):
                one, two, three = 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0
                _push(d, pairs, normal, one, two, three, velocity, bodies)
                x, y, z = _relative(c, pairs, normal, velocity, bodies)
                blocks[m, 0, k], blocks[m, 1, k], blocks[m, 2, k] = x, y, z
                velocity[j] = 0.0
                if i >= 0:
                    velocity[i] = 0.0
    return starts, columns, blocks
