"""The discrete Lagrange-d'Alembert principle of SPARK methods: equations, derivatives, symmetry, refusals."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import GALLERY

H = 0.1
GAUSS = da.gauss_spark(2)
#: A constraint linear in v, and one that is not.
CASES = [
    ("mobile-robot", GAUSS),
    ("mobile-robot", da.lobatto_spark(3, "ABD")),
    ("appell-hamel", da.lobatto_spark(2)),
    ("appell-hamel", da.euler_spark("I")),
]


@functools.cache
def two_steps(name, method):
    system = GALLERY[name]()
    start = system.start()
    run = da.simulate(system, method, start.q0, start.v0, t=(0.0, 2 * H), h=H)
    first = da.discrete_principle(system, method, run.q[0], run.v[0], H)
    second = da.discrete_principle(system, method, run.q[1], run.v[1], H, t0=H)
    return system, run, first, second


@pytest.mark.parametrize(("name", "method"), CASES, ids=str)
def test_discrete_equations_over_two_steps(name, method):
    _, run, first, second = two_steps(name, method)
    assert np.max(np.abs(first.q1 - run.q[1])) < 1e-14
    assert np.max(np.abs(first.D2 + second.D1 + first.f_plus + second.f_minus)) < 1e-14
    assert np.max(np.abs(np.concatenate([first.c, second.c]))) < 1e-14
    for step, p0, p1 in ((first, run.p[0], run.p[1]), (second, run.p[1], run.p[2])):
        assert np.max(np.abs(p0 + step.D1 + step.f_minus)) < 1e-14
        assert np.max(np.abs(p1 - step.D2 - step.f_plus)) < 1e-14
    # the reactions are a part of them, not a correction in the last digits
    assert np.max(np.abs(first.D2 + second.D1)) > 1e-3


@pytest.mark.parametrize(("name", "method"), CASES, ids=str)
def test_symmetric_methods_have_a_symmetric_principle(name, method):
    """L_d(q1, q0) = -L_d(q0, q1), f^+(q1, q0) = -f^-(q0, q1), f^-(q1, q0) = -f^+(q0, q1), and only for them."""
    system, run, first, _ = two_steps(name, method)
    back = da.discrete_principle(system, method, run.q[1], run.v[1], -H, t0=H, q1=run.q[0])
    defects = [back.Ld + first.Ld, back.f_plus + first.f_minus, back.f_minus + first.f_plus]
    largest = [np.max(np.abs(defect)) for defect in defects]
    assert (max(largest) < 1e-14) if method.claims.symmetric else (min(largest) > 1e-4)


def test_derivatives_are_those_of_the_discrete_lagrangian():
    """Central differences of L_d(q0, q1) by both ends, which need not be those of a step."""
    system, run, first, _ = two_steps("mobile-robot", GAUSS)
    direction, small = np.random.default_rng(0).standard_normal(4), 1e-5

    def value(shift0, shift1):
        return da.discrete_principle(
            system, GAUSS, run.q[0] + shift0, run.v[0], H, q1=run.q[1] + shift1
        )  # fmt: skip

    by_start = [value(sign * small * direction, 0.0).Ld for sign in (1, -1)]
    by_end = [value(0.0, sign * small * direction).Ld for sign in (1, -1)]
    assert abs((by_start[0] - by_start[1]) / (2 * small) - first.D1 @ direction) < 1e-8
    assert abs((by_end[0] - by_end[1]) / (2 * small) - first.D2 @ direction) < 1e-8
    off = value(0.01 * direction, 0.0)  # no step of the method joins these; the principle holds all the same
    assert np.max(np.abs(off.c)) > 1e-3
    assert np.max(np.abs(off.p0 + off.D1 + off.f_minus)) < 1e-13
    assert np.max(np.abs(off.p1 - off.D2 - off.f_plus)) < 1e-13


def test_forces_and_reactions_that_are_not_ideal_are_part_of_the_discrete_forces():
    system = da.system(
        lambda t, q, v: 0.5 * v @ v + q[0],
        nonholonomic=lambda t, q, v: jnp.cos(q[2]) * v[1] - jnp.sin(q[2]) * v[0],
        force=lambda t, q, v: -0.3 * v + jnp.array([0.0, 0.0, 0.2]),
        reaction=lambda t, q, v, psi: -0.1 * psi * v,
    )
    q0, v0, method = np.zeros(3), np.array([0.5, 0.0, 1.0]), da.gauss_spark(2)
    run = da.simulate(system, method, q0, v0, t=(0.0, H), h=H)
    step = da.discrete_principle(system, method, q0, v0, H)
    assert np.max(np.abs(run.p[0] + step.D1 + step.f_minus)) < 1e-14
    assert np.max(np.abs(run.p[1] - step.D2 - step.f_plus)) < 1e-14


@pytest.mark.parametrize(
    ("name", "method", "error", "message"),
    [
        ("skate", da.Rattle(), da.InputError, "expects a da.Spark"),
        ("skate", da.lobatto_spark(3, "C"), da.MethodDoesNotFit, "6.2"),
        ("skate", da.standard_gauss(2), da.MethodDoesNotFit, "6.2"),
        ("rolling-disc", da.gauss_spark(2), da.MethodDoesNotFit, "discrete_lagrangian"),
    ],
    ids=str,
)
def test_what_has_no_such_principle_is_refused(name, method, error, message):
    system = GALLERY[name]()
    start = system.start()
    with pytest.raises(error, match=message):
        da.discrete_principle(system, method, start.q0, start.v0, H)
