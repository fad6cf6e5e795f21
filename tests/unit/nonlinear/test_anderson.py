"""Anderson's acceleration: linear iterations, one that drifts, one that it makes worse."""

import numpy as np

from dalembert.nonlinear.anderson import empty_memory, go_on


def iterations(g, x, depth, close, most=20_000):
    """How many it takes until `close(x)`; x is overwritten."""
    memory, scales = empty_memory(depth, len(x)), np.ones(len(x))
    for k in range(most):
        if close(x):
            return k
        go_on(memory, x, g(x), scales)
    return most


def test_a_linear_iteration_ends_after_as_many_steps_as_it_has_directions():
    random = np.random.default_rng(0)
    turn = np.linalg.qr(random.standard_normal((5, 5)))[0]
    A = turn @ np.diag([0.9999, 0.99, 0.9, -0.5, 0.1]) @ turn.T  # plain: 200,000 steps
    solution = random.standard_normal(5)
    x = np.zeros(5)
    steps = iterations(lambda x: solution + A @ (x - solution), x, 6, lambda x: np.max(np.abs(x - solution)) < 1e-9)
    assert steps <= 12


def test_it_leaps_where_it_drifts():
    """One unknown grows by 1e-4 a step until it reaches its bound, which no combination of residuals can foresee."""
    x = np.zeros(2)
    steps = iterations(
        lambda x: np.array([min(x[0] + 1e-4, 3.0), 1.0 + 0.5 * x[1]]), x, 6, lambda x: abs(x[0] - 3) < 1e-9
    )
    assert steps < 3000  # plain: 30,000
    assert abs(x[1] - 2) < 1e-3


def test_it_ends_where_the_iteration_has_kinks():
    random = np.random.default_rng(1)
    A = random.standard_normal((30, 30))
    A = A @ A.T + 0.01 * np.eye(30)
    b, size = random.standard_normal(30), np.linalg.norm(A, 2)

    def g(x):
        return np.maximum(x - (A @ x + b) / size, 0.0)

    def close(x):
        return np.max(np.abs(np.minimum(x, A @ x + b))) < 1e-10

    x = np.zeros(30)
    plain = next(k for k in range(10**6) if close(x) or (x := g(x)) is None)
    x = np.zeros(30)
    assert iterations(g, x, 6, close) < plain / 3
