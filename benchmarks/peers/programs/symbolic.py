"""The equations of motion reduced by hand, written with + - * / only, for programs with expressions of their own."""

from __future__ import annotations

from problems import GRAVITY, MASSES, PAIRS, RODS, SPRINGS


def dot(a, b):
    return sum((x * y for x, y in zip(a[1:], b[1:], strict=True)), a[0] * b[0])


def minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def pendulum(q, v):
    """One multiplier."""
    lam = (dot(v, v) - GRAVITY * q[1]) / dot(q, q)
    return [-lam * q[0], -lam * q[1] - GRAVITY]


def chain(q, v):
    """A tridiagonal system for the tensions, solved from the end to the start."""
    n = len(q) // 3
    r, w = [q[3 * i : 3 * i + 3] for i in range(n)], [v[3 * i : 3 * i + 3] for i in range(n)]
    d = [r[0]] + [minus(r[i], r[i - 1]) for i in range(1, n)]
    e = [w[0]] + [minus(w[i], w[i - 1]) for i in range(1, n)]
    right = [dot(x, x) for x in e]
    right[0] = right[0] - GRAVITY * d[0][2]
    diagonal = [(2.0 if i else 1.0) * dot(x, x) for i, x in enumerate(d)]
    beside = [-dot(d[i], d[i + 1]) for i in range(n - 1)]
    for i in range(n - 2, -1, -1):
        factor = beside[i] / diagonal[i + 1]
        diagonal[i] = diagonal[i] - factor * beside[i]
        right[i] = right[i] - factor * right[i + 1]
    lam = [right[0] / diagonal[0]]
    for i in range(1, n):
        lam.append((right[i] - beside[i - 1] * lam[i - 1]) / diagonal[i])
    a = []
    for i in range(n):
        for j in range(3):
            pull = -lam[i] * d[i][j]
            if i + 1 < n:
                pull = pull + lam[i + 1] * d[i + 1][j]
            a.append(pull - GRAVITY if j == 2 else pull)
    return a


def four(q, v):
    """Two bars that share no particle: a multiplier each."""
    r, w = [q[3 * i : 3 * i + 3] for i in range(4)], [v[3 * i : 3 * i + 3] for i in range(4)]
    a = [[0.0] * 3 for _ in range(4)]
    for i, j, stiffness in SPRINGS:
        d = minus(r[i], r[j])
        pull = stiffness * (dot(d, d) - 1.0)
        a[i] = [x - pull / MASSES[i] * y for x, y in zip(a[i], d, strict=True)]
        a[j] = [x + pull / MASSES[j] * y for x, y in zip(a[j], d, strict=True)]
    for i, j in RODS:
        d, e = minus(r[i], r[j]), minus(w[i], w[j])
        lam = (dot(d, minus(a[i], a[j])) + dot(e, e)) / (float(1 / MASSES[i] + 1 / MASSES[j]) * dot(d, d))
        a[i] = [x - lam * y / float(MASSES[i]) for x, y in zip(a[i], d, strict=True)]
        a[j] = [x + lam * y / float(MASSES[j]) for x, y in zip(a[j], d, strict=True)]
    return [x for row in a for x in row]


def particles(q, v):
    """One multiplier of the nonholonomic constraint."""
    y, z = q[1 : PAIRS + 1], q[PAIRS + 1 :]
    f = [-x for x in q]
    for i in range(PAIRS):
        f[1 + i] = f[1 + i] - y[i] * z[i] * z[i]
        f[1 + PAIRS + i] = f[1 + PAIRS + i] - z[i] * y[i] * y[i]
    f[1 + PAIRS] = f[1 + PAIRS] - z[0] * z[1] * z[1]
    f[2 + PAIRS] = f[2 + PAIRS] - z[1] * z[0] * z[0]
    lam = (f[0] + dot(y, f[PAIRS + 1 :]) + dot(v[1 : PAIRS + 1], v[PAIRS + 1 :])) / (1.0 + dot(y, y))
    return [f[0] - lam, *f[1 : PAIRS + 1], *(g - lam * x for g, x in zip(f[PAIRS + 1 :], y, strict=True))]


ACCELERATIONS = {"pendulum": pendulum, "chain": chain, "four": four, "particles": particles}
