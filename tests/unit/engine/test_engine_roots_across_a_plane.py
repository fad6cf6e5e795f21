"""Roots of equations some of which hold nothing but roundoff, as those across the plane of a motion in a plane."""

import numpy as np
from scipy import sparse

from dalembert.engine.functions.function import find_root


def test_equations_of_roundoff_do_not_stop_newton():
    """Row 2 sees unknowns of size 1e-47 alone, and is left at 1e-46 by the last digits of the others."""

    def residual(x):
        A = np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 1.0]])
        rounding = 1e-46 if x[0] else 1e-47
        return A @ x - np.array([1.0, 2.0, 0.0]) + np.array([0.0, 0.0, rounding]), sparse.csr_matrix(A)

    found = find_root(residual, np.zeros(3))
    assert found is not None
    np.testing.assert_allclose(found, [1 / 6, 2 / 3, 0.0], atol=1e-15)
