"""A heap of spheres with much friction: more impulses than accelerations hold it."""

import numpy as np
import scipy.spatial

from dalembert.nonlinear import friction_cone, friction_residual, solve_friction


def heap(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """W and b of a step of 5 ms of spheres that lie on each other and on the ground."""
    chance = np.random.default_rng(seed)
    radius, side = chance.uniform(0.4, 0.6, count), 3 * (count / 60) ** (1 / 3)
    place = chance.uniform([-side, -side, 0.5], [side, side, 2 * side], (count, 3))
    for _ in range(400):  # sink, and move apart
        place[:, 2] -= 0.01
        for i, j in sorted(scipy.spatial.cKDTree(place).query_pairs(1.2)):
            apart = place[j] - place[i]
            overlap = radius[i] + radius[j] - np.linalg.norm(apart)
            if overlap > 0:
                push = 0.45 * overlap * apart / np.linalg.norm(apart)
                place[i], place[j] = place[i] - push, place[j] + push
        place[:, 2] = np.maximum(place[:, 2], radius)
    pairs = [(i, j) for i, j in sorted(scipy.spatial.cKDTree(place).query_pairs(1.25))
             if np.linalg.norm(place[j] - place[i]) < radius[i] + radius[j] + 0.03]  # fmt: skip
    pairs += [(-1, j) for j in range(count) if place[j, 2] < radius[j] + 0.03]
    rows = []
    for i, j in pairs:
        normal = np.array([0.0, 0.0, 1.0]) if i < 0 else place[j] - place[i]
        normal = normal / np.linalg.norm(normal)
        tangent = np.cross(normal, [1.0, 0.0, 0.0] if abs(normal[0]) < 0.9 else [0.0, 1.0, 0.0])
        tangent = tangent / np.linalg.norm(tangent)
        for axis in (normal, tangent, np.cross(normal, tangent)):
            row = np.zeros((count, 6))
            for body, sign, arm in ((i, -1.0, 1.0), (j, 1.0, -1.0)):
                if body >= 0:
                    row[body] = np.concatenate([sign * axis, sign * np.cross(arm * radius[body] * normal, axis)])
            rows.append(row.ravel())
    H = np.array(rows)
    mass = 10 * radius**3
    inverse = np.concatenate([np.stack([1 / mass] * 3 + [2.5 / (mass * radius**2)] * 3, axis=1)]).ravel()
    velocity = np.tile([0.0, 0.0, -9.81 * 0.005, 0.0, 0.0, 0.0], count) + 1e-6 * chance.normal(size=6 * count)
    return (H * inverse) @ H.T, H @ velocity


def test_a_heap_that_sweeps_and_newton_do_not_solve(monkeypatch):
    W, b = heap(50, 959000)
    assert np.linalg.matrix_rank(W) < len(b)
    found = solve_friction(W, b, 0.8, 3)
    assert found.method == "proximal"
    assert found.converged
    assert friction_residual(W, b, 0.8, 3, found.r) <= 1e-12
    monkeypatch.setattr(friction_cone, "proximal_points", lambda problem, r, *rest: (r, 0))
    without = solve_friction(W, b, 0.8, 3)
    assert not without.converged
    assert without.residual > 1e-7
