"""Linear complementarity problems solved by trying every active set, and random problems of several kinds."""

from itertools import product

import numpy as np

#: Relative to the largest |q_i| of a problem with unit diagonal.
TOLERANCE = 1e-9


def enumerate_lcp(M: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The first (z, w) with z >= 0, w = M z + q >= 0 and z_i w_i = 0, over all 2^n active sets, or None."""
    s = np.sqrt(np.diag(M))
    s[s == 0.0] = 1.0
    size = max(np.max(np.abs(q / s)), np.finfo(float).tiny)
    scaled, right = M / np.outer(s, s), q / (s * size)
    for choice in product([False, True], repeat=len(q)):
        active = np.flatnonzero(choice)
        z = np.zeros(len(q))
        if len(active) > 0:
            z[active] = np.linalg.lstsq(scaled[np.ix_(active, active)], -right[active], rcond=1e-11)[0]
        w = scaled @ z + right
        if np.min(z) >= -TOLERANCE and np.min(w) >= -TOLERANCE and np.max(np.abs(w[active]), initial=0.0) <= TOLERANCE:
            return size * z / s, size * w * s
    return None


def positive_definite(rng, n):
    A = rng.standard_normal((n, n))
    return A @ A.T + 0.1 * np.eye(n), rng.standard_normal(n)


def asymmetric(rng, n):
    M, q = positive_definite(rng, n)
    A = rng.standard_normal((n, n))
    return M + A - A.T, q


def singular(rng, n):
    A = rng.standard_normal((n, max(1, n // 2)))
    return A @ A.T, A @ rng.standard_normal(A.shape[1])


def integers(rng, n):
    A = rng.integers(-2, 3, (n, n)).astype(float)
    return A @ A.T + np.eye(n), rng.integers(-2, 3, n).astype(float)


def singular_integers(rng, n):
    A = rng.integers(-2, 3, (n, max(1, n - 1))).astype(float)
    return A @ A.T, A @ rng.integers(-2, 3, A.shape[1]) + rng.integers(0, 2, n)


def duplicated(rng, n):
    A = np.repeat(rng.standard_normal(((n + 1) // 2, n)), 2, axis=0)[:n]
    return A @ A.T, A @ rng.standard_normal(n)


def badly_scaled(rng, n):
    M, q = positive_definite(rng, n)
    s = 10.0 ** rng.uniform(-3, 3, n)
    return 1e4 * M * np.outer(s, s), 1e-2 * q * s


def perhaps_infeasible(rng, n):
    A = rng.integers(-1, 2, (n, n)).astype(float)
    return A @ A.T, rng.integers(-2, 2, n).astype(float)


SYMMETRIC = (positive_definite, singular, integers, singular_integers, duplicated, badly_scaled, perhaps_infeasible)
