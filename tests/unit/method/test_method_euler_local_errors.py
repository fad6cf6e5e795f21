"""Local errors of the symplectic Euler methods on problem (4.1), theorems 3.1 to 3.3: one step from the solution."""

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery.friction_surface import NonlinearReaction

SIZES = (0.02, 0.01, 0.005)


def local_orders(method):
    """The orders of z(t0 + h) - z1 and of y(t0 + h) - y1."""
    system, errors = NonlinearReaction(), []
    y0, z0 = system.start_values()
    for h in SIZES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", da.InconsistentMethodWarning)
            run = da.simulate(system, method, y0=y0, z0=z0, t=(0.0, h), h=h)
        exact = system.exact(np.array([h]))
        errors.append([np.max(np.abs(run.z[-1] - exact.p[0])), np.max(np.abs(run.y[-1] - exact.q[0]))])
    return np.polyfit(np.log(SIZES), np.log(errors), 1)[0]


@pytest.mark.parametrize(
    ("extension", "conjugate", "order"),
    [("true", False, 2.0), ("true", True, 2.0), ("natural", False, 1.0), ("natural", True, 1.0)],
)
def test_local_orders(extension, conjugate, order):
    """z1 - z(t0 + h) is O(h^2) for the true methods and only O(h) for the natural ones; y1 is O(h^2) for all."""
    found = local_orders(da.SymplecticEuler(extension, conjugate))
    assert found == pytest.approx([order, 2.0], abs=0.2)


def test_local_order_of_a_symmetric_method_with_the_same_reaction():
    assert local_orders(da.Rattle()) == pytest.approx([3.0, 3.0], abs=0.2)
