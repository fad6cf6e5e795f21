"""The exact discrete Lagrangian, how methods approach it, and which discrete Lagrangians are their own adjoints."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import GALLERY
from dalembert.method.galerkin_coefficients import constraint_rank


def test_the_oscillator_in_closed_form():
    """L_d^E = w / (2 sin w h) ((q0^2 + q1^2) cos w h - 2 q0 q1)."""
    w, h, q0, q1 = 1.7, 0.4, 0.9, -0.2
    oscillator = da.system(lambda t, q, v: 0.5 * (v @ v) - 0.5 * w**2 * (q @ q))
    found = da.exact_principle(oscillator, [q0], [0.0], h, q1=[q1])
    s, c = np.sin(w * h), np.cos(w * h)
    assert float(found.Ld) == pytest.approx(w / (2 * s) * ((q0**2 + q1**2) * c - 2 * q0 * q1), abs=1e-14)
    assert float(found.D1[0]) == pytest.approx(w / s * (q0 * c - q1), abs=1e-13)
    assert float(found.p1[0]) == pytest.approx(w / s * (q1 * c - q0), abs=1e-13)


def test_the_work_of_a_damper_in_closed_form():
    """m = 1, F = -d v: v(s) = v0 e^(-d s), and f_d^- = int (int_0^s d v dt) dv(s)/dq0 ds in closed form."""
    d, h, q0, q1 = 0.6, 0.5, 0.2, 1.1
    damper = da.system(lambda t, q, v: 0.5 * (v @ v), force=lambda t, q, v: -d * v)
    found = da.exact_principle(damper, [q0], [1.0], h, q1=[q1])
    decay = 1 - np.exp(-d * h)
    v0 = d * (q1 - q0) / decay
    assert float(found.p0[0]) == pytest.approx(v0, abs=1e-13)
    # dv(s)/dq0 = -d e^(-d s) / decay, int_0^s F dt = v(s) - v0
    inner = -v0 * d / decay * ((1 - np.exp(-2 * d * h)) / (2 * d) - decay / d)
    assert float(found.f_minus[0]) == pytest.approx(-inner, abs=1e-13)


@pytest.mark.parametrize(
    ("name", "method"),
    [("nonholonomic-particle", da.gauss_spark(1)), ("skate", da.lobatto_spark(3)), ("skate", da.gauss_spark(2))],
)
def test_methods_approach_it_with_their_order(name, method):
    """Between the same positions: L_d by O(h^(p+1)), forces and momenta by O(h^p)."""
    system, apart = GALLERY[name](), []
    start = system.start()
    for h in (0.1, 0.05):
        exact = da.exact_principle(system, start.q0, start.v0, h)
        own = da.discrete_principle(system, method, start.q0, start.v0, h, q1=exact.q1)
        pairs = ((own.f_minus, exact.f_minus), (own.f_plus, exact.f_plus), (own.p0, exact.p0))
        apart.append([abs(own.Ld - exact.Ld), *(np.max(np.abs(a - b)) for a, b in pairs)])
    orders = np.log2(np.array(apart[0]) / apart[1])
    assert orders == pytest.approx([method.order + 1, *[method.order] * 3], abs=0.25)


def test_what_is_not_found_exactly_is_refused():
    stiff = da.system(lambda t, q, v: 0.5 * (v @ v) - 50.0 * jnp.cosh(q[0]))
    with pytest.raises(da.StepFailure, match=r"order 16 and 20 differ|not found"):
        da.exact_principle(stiff, [1.0], [0.0], 1.0)


@pytest.mark.parametrize(
    ("method", "own"),
    [
        (da.Galerkin(2), True),
        (da.Galerkin(3, 2, quadrature="lobatto"), True),
        (da.Galerkin(2, nodes=4), True),
        (da.Galerkin(3, constraint_quadrature="radau"), False),
    ],
    ids=str,
)
def test_symmetric_nodes_give_a_self_adjoint_discrete_lagrangian(method, own):
    """Lemma 1 on L_d itself: -L_d(q1, q0, -h) = L_d(q0, q1, h) between positions that no step joins; the derivatives
    too, which are the momenta (theorem 2)."""
    system, h = GALLERY["spherical-pendulum"](), 0.2
    q0, q1 = np.array([0.6, 0.0, -0.8]), np.array([0.55, 0.15, -0.82])
    there, back = method.discrete_lagrangian(system, h), method.discrete_lagrangian(system, -h, t=h)
    defect = abs(float(there.extremised(q0, q1) + back.extremised(q1, q0)))
    ends = there.extremal(q0, q1).nodes, back.extremal(q1, q0).nodes[::-1]
    assert (defect < 1e-14) == own
    assert (np.max(np.abs(ends[0] - ends[1])) < 1e-13) == own


@pytest.mark.parametrize(("rule", "excess"), [("lobatto", 0), ("radau", 0), ("gauss", 1)])
def test_the_rank_of_the_constraint_equations(rule, excess):
    for degree in (1, 2, 3, 4):
        for w in range(2, 7):
            count, rank = constraint_rank(degree, w, rule)
            assert count == w - excess
            assert rank == min(count, degree)
    with pytest.raises(da.InputError, match=r"5 equations of rank 3|4 equations of rank 3"):
        da.Galerkin(3, 5, constraint_quadrature=rule)
