"""Steps of runs, stored: two solvers find the same velocities."""

import numpy as np
import pytest
from contact_problems import FOLDER, load

from dalembert.nonlinear import friction_residual, solve_friction

PROBLEMS = sorted(FOLDER.glob("*.npz"))


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.stem)
def test_two_solvers_agree_to_1e_8(path):
    W, b, mu = load(path)
    d = len(b) // len(mu)
    start = solve_friction(W, b, mu, d, tolerance=1e-8, method="gauss_seidel", max_sweeps=50_000)
    found = [
        solve_friction(W, b, mu, d, tolerance=1e-8, method="accelerated"),
        solve_friction(W, b, mu, d, start.r, 1e-12, method="newton"),
    ]
    assert found[0].iterations < max(200, start.iterations / 10)
    for one in found:
        assert one.residual <= 1e-8
        assert friction_residual(W, b, mu, d, one.r) <= 1e-8
    # impulses need not be unique, velocities are
    np.testing.assert_allclose(found[0].u, found[1].u, atol=1e-5 * np.max(np.abs(b)))


def test_problems_are_stored():
    assert len(PROBLEMS) >= 5
