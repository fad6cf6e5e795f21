"""Galerkin integrators beyond the standard choice: raw momenta and multipliers, other degrees and quadratures."""

import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import end_errors, observed_order
from dalembert.gallery import Pendulum

PENDULUM = Pendulum()
QUANTITIES = ("q", "p", "lam")


def orders(method: da.Method, steps) -> dict[str, float]:
    start = PENDULUM.start()
    found = end_errors(
        PENDULUM, method, start.q0, start.v0, (0.0, 1.0), 1 / np.array(steps, dtype=float), PENDULUM.exact(1.0),
        quantities=QUANTITIES,
    )  # fmt: skip
    return {name: observed_order(found.hs, errors).slope for name, errors in found.errors.items()}


def check_orders(method: da.Method, steps, q: int, p: int, lam: int) -> None:
    for name, order in zip(QUANTITIES, (q, p, lam), strict=True):
        assert orders(method, steps)[name] == pytest.approx(order, abs=0.2), name


@pytest.mark.parametrize(
    ("degree", "steps", "p", "lam"),
    [
        (1, (50, 100, 200, 400), 2, 2),
        (2, (20, 40, 80, 160), 4, 2),
        (3, (20, 30, 45, 68), 4, 4),
        (4, (10, 15, 22, 32), 6, 4),
    ],
)
def test_raw_momenta_and_multipliers(degree, steps, p, lam):
    """w even: p of order w + 2, lam of order w; w odd: both of order w + 1; q of order 2w."""
    method = da.Galerkin(degree, project=False)
    check_orders(method, steps, 2 * degree, p, lam)
    assert method.claims.order == min(2 * degree, p)
    assert method.claims.multiplier_order == lam


@pytest.mark.parametrize(
    ("method", "q", "p", "lam"),
    [
        (da.Galerkin(3, 2), 4, 4, 4),
        (da.Galerkin(3, 2, project=False), 4, 4, 2),
        (da.Galerkin(4, 3), 6, 6, 6),
        (da.Galerkin(4, 2), 2, 2, 2),
        (da.Galerkin(3, quadrature="lobatto", nodes=3), 4, 4, 4),
        (da.Galerkin(3, quadrature="lobatto", nodes=3, project=False), 4, 2, 2),
        (da.Galerkin(2, quadrature="lobatto"), 4, 4, 4),
    ],
    ids=lambda x: x.name if isinstance(x, da.Method) else str(x),
)
def test_other_degrees_and_quadratures(method, q, p, lam):
    check_orders(method, (20, 30, 45, 68), q, p, lam)
    assert method.claims.order == min(q, p)
    assert method.claims.multiplier_order == lam


def test_raw_multipliers_diverge_where_none_are_claimed():
    method = da.Galerkin(4, 2, project=False)
    assert method.claims.multiplier_order is None
    assert orders(method, (20, 30, 45, 68))["lam"] == pytest.approx(0.0, abs=0.2)


@pytest.mark.parametrize(("degree", "steps"), [(2, (100, 200, 400, 800)), (3, (40, 60, 90, 130))])
def test_radau_quadrature_of_the_constraints_loses_one_order(degree, steps):
    method = da.Galerkin(degree, constraint_quadrature="radau")
    check_orders(method, steps, 2 * degree - 1, 2 * degree - 1, 2 * degree - 1)
    assert method.claims.order == 2 * degree - 1
    assert not method.claims.symmetric


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_gauss_quadrature_of_the_constraints_drifts(degree):
    """Not stiffly accurate: nothing holds at the end of a step, and nothing is claimed there."""
    method, start = da.Galerkin(degree, constraint_quadrature="gauss"), PENDULUM.start()
    run = da.simulate(PENDULUM, method, start.q0, start.v0, t=(0.0, 1.0), h=0.05)
    assert method.claims.constraints == ()
    assert np.max(run.constraint) > 1e-7
    assert "drifts" in method.claims.note
