"""Compiled loops over unknowns and contacts: Gauss-Seidel, and the natural map with its derivative.

For contacts, `starts`, `columns`, `blocks` hold W by rows of d x d blocks, and `diagonal` says which of them is W_ii;
b, r, u have one row (n, t_1, ..., t_{d-1}) for each contact. Importing this module imports numba.
"""

from __future__ import annotations

import numpy as np

from .compilation import compiled

#: Below this part of the largest eigenvalue, a direction of W_ii counts as one in which nothing moves.
ROUNDOFF = 4e-16
#: A block on the diagonal with a trace below this part of the largest one does not set a scale.
LEAST_TRACE = 1e-14
#: The root of one contact is found by Newton in a bracket: four steps are usual, halving needs at most these.
ROOT_STEPS = 200


@compiled
def projected_sweeps(starts, columns, entries, q, z, sweeps, enough):
    """Gauss-Seidel z_i = max(0, z_i - w_i / M_ii) for M by compressed rows; `z` is overwritten.

    Stops after `sweeps` rounds or when no z_i has changed by more than `enough`. Returns the number of rounds.
    """
    for done in range(sweeps):
        change = 0.0
        for i in range(len(q)):
            w, diagonal = q[i], 0.0
            for m in range(starts[i], starts[i + 1]):
                j = columns[m]
                w += entries[m] * z[j]
                if j == i:
                    diagonal += entries[m]
            if diagonal > 0.0:
                trial = max(0.0, z[i] - w / diagonal)
                change = max(change, abs(trial - z[i]))
                z[i] = trial
        if change <= enough:
            return done + 1
    return sweeps


@compiled
def blocks_of_dense(W, d):
    """Rows of d x d blocks of a dense matrix, without the blocks that vanish (those on the diagonal stay)."""
    count = W.shape[0] // d
    kept = np.zeros((count, count), dtype=np.bool_)
    for i in range(count):
        for k in range(d):
            for j in range(count):
                for l in range(d):
                    if W[d * i + k, d * j + l] != 0.0:
                        kept[i, j] = True
        kept[i, i] = True
    total = np.count_nonzero(kept)
    starts = np.zeros(count + 1, dtype=np.int64)
    columns = np.empty(total, dtype=np.int64)
    blocks = np.empty((total, d, d))
    m = 0
    for i in range(count):
        for j in range(count):
            if kept[i, j]:
                columns[m] = j
                blocks[m] = W[d * i : d * i + d, d * j : d * j + d]
                m += 1
        starts[i + 1] = m
    return starts, columns, blocks


@compiled
def without_units(starts, columns, blocks, b):
    """(W_ij / (s_i s_j), b_i / (s_i size), diagonal, s, size) with s_i^2 = trace(W_ii) / d, size = max_i |b_i / s_i|.

    A contact that does not move takes the mean of the s_i^2 of the others. diagonal_i is -1 without a block W_ii.
    """
    count, d = b.shape
    diagonal = np.full(count, -1)
    traces = np.zeros(count)
    for i in range(count):
        for m in range(starts[i], starts[i + 1]):
            if columns[m] == i:
                diagonal[i] = m
                for k in range(d):
                    traces[i] += blocks[m, k, k] / d
    largest = 0.0
    for i in range(count):
        largest = max(largest, traces[i])
    total, moving = 0.0, 0
    for i in range(count):
        if traces[i] > LEAST_TRACE * largest:
            total += traces[i]
            moving += 1
    s = np.empty(count)
    size = 0.0
    for i in range(count):
        if traces[i] > LEAST_TRACE * largest:
            s[i] = np.sqrt(traces[i])
        else:
            s[i] = np.sqrt(total / moving) if moving > 0 else 1.0
        for k in range(d):
            size = max(size, abs(b[i, k]) / s[i])
    if size == 0.0:
        size = 1.0
    scaled, right = np.empty_like(blocks), np.empty_like(b)
    for i in range(count):
        right[i] = b[i] / (s[i] * size)
        for m in range(starts[i], starts[i + 1]):
            scaled[m] = blocks[m] / (s[i] * s[columns[m]])
    return scaled, right, diagonal, s, size


@compiled
def planar_contact(nn, nt, tt, p_n, p_t, mu):
    """(r_n, r_t) of one contact in the plane, where u = [[nn, nt], [nt, tt]] r + p; by enumeration.

    The matrix is positive semidefinite. If p_n < 0 and the contact does not stick, it slides, and friction opposes
    the tangential velocity `pull` that a normal impulse alone would leave: for u_t = -alpha r_t with alpha > 0,
    (schur + alpha) r_t = -pull, and mu r_n - |r_t| changes its sign between alpha = 0 and infinity.
    """
    if p_n >= 0.0 or nn <= 0.0:
        return 0.0, 0.0
    schur = tt - nt * nt / nn
    pull = p_t - nt * p_n / nn
    if schur > ROUNDOFF * tt:
        r_t = -pull / schur
        r_n = -(p_n + nt * r_t) / nn
        if abs(r_t) <= mu * r_n:
            return r_n, r_t
    elif abs(pull) <= ROUNDOFF * (abs(p_t) + abs(nt * p_n / nn)):
        return -p_n / nn, 0.0
    side = -np.sign(pull)
    r_n = -p_n / max(nn + side * mu * nt, ROUNDOFF * nn)
    return r_n, side * mu * r_n


@compiled
def spatial_contact(A, p_n, p_1, p_2, mu):
    """(r_n, r_1, r_2) of one contact in space, where u = A r + p, with A symmetric positive semidefinite.

    Sliding means u_n = 0 and u_t = -alpha r_t with alpha > 0. Without r_n this is (S + alpha) r_t = -q, where S is
    the Schur complement of A_nn and q the tangential velocity under a normal impulse alone. What is left is one
    equation, mu r_n(alpha) = |r_t(alpha)|. Its left side is the smaller one at alpha = 0, unless the contact sticks,
    and the larger one for large alpha: the root is bracketed, and as mu r_n / |r_t| is nearly linear, Newton is fast.
    """
    nn = A[0, 0]
    if p_n >= 0.0 or nn <= 0.0:
        return 0.0, 0.0, 0.0
    if mu == 0.0:
        return -p_n / nn, 0.0, 0.0
    w_1, w_2 = A[0, 1], A[0, 2]
    s_11, s_12, s_22 = A[1, 1] - w_1 * w_1 / nn, A[1, 2] - w_1 * w_2 / nn, A[2, 2] - w_2 * w_2 / nn
    q_1, q_2 = p_1 - w_1 * p_n / nn, p_2 - w_2 * p_n / nn
    middle, half = 0.5 * (s_11 + s_22), 0.5 * (s_11 - s_22)
    radius = np.hypot(half, s_12)
    angle = 0.5 * np.arctan2(s_12, half)
    cos, sin = np.cos(angle), np.sin(angle)
    sigma_a, sigma_b = max(middle + radius, 0.0), max(middle - radius, 0.0)
    q_a, q_b = cos * q_1 + sin * q_2, cos * q_2 - sin * q_1
    w_a, w_b = cos * w_1 + sin * w_2, cos * w_2 - sin * w_1

    least = ROUNDOFF * (A[1, 1] + A[2, 2])
    still = ROUNDOFF * (abs(p_1) + abs(p_2) + (abs(w_1) + abs(w_2)) * abs(p_n) / nn)
    sticks = (sigma_a > least or abs(q_a) <= still) and (sigma_b > least or abs(q_b) <= still)
    if sticks:
        r_a = -q_a / sigma_a if sigma_a > least else 0.0
        r_b = -q_b / sigma_b if sigma_b > least else 0.0
        r_n = -(p_n + w_a * r_a + w_b * r_b) / nn
        if np.hypot(r_a, r_b) <= mu * r_n:
            return r_n, cos * r_a - sin * r_b, sin * r_a + cos * r_b

    size = np.hypot(q_a, q_b)
    if size == 0.0:
        return -p_n / nn, 0.0, 0.0
    low, high = 0.0, size * (nn / mu + np.hypot(w_a, w_b)) / -p_n
    alpha = min(max(size * nn / (mu * -p_n) - middle, 0.0), high)
    if alpha == 0.0 and sigma_b <= least:
        alpha = min(middle, 0.5 * high)
    r_a = r_b = r_n = 0.0
    for _ in range(ROOT_STEPS):
        r_a, r_b = -q_a / (sigma_a + alpha), -q_b / (sigma_b + alpha)
        r_n = -(p_n + w_a * r_a + w_b * r_b) / nn
        length = np.hypot(r_a, r_b)
        excess = mu * r_n / length - 1.0
        if excess < 0.0:
            low = alpha
        else:
            high = alpha
        da, db = -r_a / (sigma_a + alpha), -r_b / (sigma_b + alpha)
        slope = mu * (-(w_a * da + w_b * db) / nn * length - r_n * (r_a * da + r_b * db) / length) / length**2
        trial = alpha - excess / slope
        if not low < trial < high:
            trial = 0.5 * (low + high)
        settled = abs(trial - alpha) <= 2.0 * ROUNDOFF * (sigma_b + alpha)
        alpha = trial
        if settled or abs(excess) <= ROUNDOFF:
            break
    length = np.hypot(r_a, r_b)
    r_n = max(r_n, 0.0)
    r_a, r_b = mu * r_n * r_a / length, mu * r_n * r_b / length
    return r_n, cos * r_a - sin * r_b, sin * r_a + cos * r_b


@compiled
def sweep(starts, columns, blocks, diagonal, b, mu, r, sweeps, enough):
    """Gauss-Seidel over the contacts, each solved exactly for its own impulse; `r` is overwritten.

    Stops after `sweeps` rounds or when no impulse has changed by more than `enough`. Returns the number of rounds.

    Many arguments: compiled by numba, which takes arrays and numbers, no records.
    """
    count, d = b.shape
    p = np.empty(d)
    for done in range(sweeps):
        change = 0.0
        for i in range(count):
            for k in range(d):
                p[k] = b[i, k]
            for m in range(starts[i], starts[i + 1]):
                j = columns[m]
                if j != i:
                    if d == 3:
                        x, y, z = r[j, 0], r[j, 1], r[j, 2]
                        p[0] += blocks[m, 0, 0] * x + blocks[m, 0, 1] * y + blocks[m, 0, 2] * z
                        p[1] += blocks[m, 1, 0] * x + blocks[m, 1, 1] * y + blocks[m, 1, 2] * z
                        p[2] += blocks[m, 2, 0] * x + blocks[m, 2, 1] * y + blocks[m, 2, 2] * z
                    else:
                        p[0] += blocks[m, 0, 0] * r[j, 0] + blocks[m, 0, 1] * r[j, 1]
                        p[1] += blocks[m, 1, 0] * r[j, 0] + blocks[m, 1, 1] * r[j, 1]
            A = blocks[diagonal[i]]
            if d == 3:
                x, y, z = spatial_contact(A, p[0], p[1], p[2], mu[i])
                change = max(change, abs(x - r[i, 0]), abs(y - r[i, 1]), abs(z - r[i, 2]))
                r[i, 0], r[i, 1], r[i, 2] = x, y, z
            else:
                x, y = planar_contact(A[0, 0], A[0, 1], A[1, 1], p[0], p[1], mu[i])
                change = max(change, abs(x - r[i, 0]), abs(y - r[i, 1]))
                r[i, 0], r[i, 1] = x, y
        if change <= enough:
            return done + 1
    return sweeps


@compiled
def in_cones(r, mu):
    """r with negative r_n replaced by zero and r_t shortened to mu r_n."""
    found = r.copy()
    for i in range(r.shape[0]):
        found[i, 0] = max(r[i, 0], 0.0)
        length, radius = np.sqrt(np.sum(r[i, 1:] ** 2)), mu[i] * found[i, 0]
        if length > radius:
            found[i, 1:] *= radius / length
    return found


@compiled
def velocities(starts, columns, blocks, b, r):
    """u = W r + b."""
    count, d = b.shape
    u = b.copy()
    for i in range(count):
        for m in range(starts[i], starts[i + 1]):
            j = columns[m]
            for k in range(d):
                for l in range(d):
                    u[i, k] += blocks[m, k, l] * r[j, l]
    return u


@compiled
def natural_map(r, u, mu):
    """(r_n - max(0, y_n), r_t - (y_t projected to the disc of radius mu max(0, y_n))), where y = r - u."""
    count, d = r.shape
    found = np.empty((count, d))
    for i in range(count):
        y_n = r[i, 0] - u[i, 0]
        squares = 0.0
        for k in range(1, d):
            squares += (r[i, k] - u[i, k]) ** 2
        length = np.sqrt(squares)
        radius = mu[i] * max(y_n, 0.0)
        found[i, 0] = r[i, 0] if y_n <= 0.0 else u[i, 0]
        for k in range(1, d):
            if length <= radius:
                found[i, k] = u[i, k]
            else:
                found[i, k] = r[i, k] - radius * (r[i, k] - u[i, k]) / length
    return found


@compiled
def natural_residual(starts, columns, blocks, b, mu, r, largest_growth):
    """The largest entry of the natural map over sqrt(max |r|), where max |r| counts as at least one."""
    found = natural_map(r, velocities(starts, columns, blocks, b, r), mu)
    largest, size = 0.0, 1.0
    for i in range(b.shape[0]):
        for k in range(b.shape[1]):
            largest, size = max(largest, abs(found[i, k])), max(size, abs(r[i, k]))
    return largest / np.sqrt(min(size, largest_growth))


@compiled
def natural_jacobian(starts, columns, blocks, diagonal, r, u, mu, shift):
    """Blocks of a generalised derivative of the natural map by r, with W + shift in place of W; laid out like W."""
    count, d = r.shape
    found = np.zeros_like(blocks)
    along = np.zeros((d, d))  # derivative of the projection of y: the map is r - projection(r - u)
    for i in range(count):
        along[:] = 0.0
        y_n = r[i, 0] - u[i, 0]
        squares = 0.0
        for k in range(1, d):
            squares += (r[i, k] - u[i, k]) ** 2
        length = np.sqrt(squares)
        if y_n > 0.0:
            along[0, 0] = 1.0
            if length <= mu[i] * y_n:
                for k in range(1, d):
                    along[k, k] = 1.0
            else:
                for k in range(1, d):
                    y_k = (r[i, k] - u[i, k]) / length
                    along[k, 0] = mu[i] * y_k
                    along[k, k] = mu[i] * y_n / length
                    for l in range(1, d):
                        along[k, l] -= mu[i] * y_n / length * y_k * (r[i, l] - u[i, l]) / length
        for m in range(starts[i], starts[i + 1]):
            for k in range(d):
                for l in range(d):
                    for e in range(d):
                        found[m, k, l] += along[k, e] * blocks[m, e, l]
        m = diagonal[i]
        for k in range(d):
            found[m, k, k] += 1.0
            for l in range(d):
                found[m, k, l] -= (1.0 - shift) * along[k, l]
    return found
