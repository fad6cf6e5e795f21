"""Reactions of constraints that are not ideal, nonlinear in the multiplier: which methods keep their order."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import reference_solution, reversibility_defect
from dalembert.gallery.friction_surface import MassOnCubic, MassOnSurface, NonlinearReaction


class RoughBall(da.System):
    """A spherical pendulum whose mass depends on its place, with friction that grows with the force of the rod."""

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) * (1 + 0.2 * q[0] ** 2) - 9.81 * q[2]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1.0)

    def reaction(self, t, q, v, lam):
        return -0.1 * jnp.sqrt(1 + lam @ lam) * v / jnp.sqrt(0.1 + v @ v)


class RoughLinks(da.System):
    """Two links, the second of a length that changes, with friction in both joints that grows with their forces."""

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 2.0 * (q[1] + q[3])

    def holonomic(self, t, q):
        first, second = q[:2], q[2:] - q[:2]
        return 0.5 * jnp.stack([first @ first - 1, second @ second - 1 - 0.1 * jnp.sin(t)])

    def reaction(self, t, q, v, lam):
        def friction(link, speed, force):
            across = jnp.stack([-link[1], link[0]])
            return -0.1 * jnp.sqrt(1 + force**2) * jnp.tanh(across @ speed) * across

        inner, outer = friction(q[:2], v[:2], lam[0]), friction(q[2:] - q[:2], v[2:] - v[:2], lam[1])
        return jnp.concatenate([inner - outer, outer])


SYSTEMS = {
    "ball": (RoughBall(), [0.6, 0.0, -0.8], [0.2, 1.0, 0.0]),
    "links": (RoughLinks(), [1.0, 0.0, 1.0, -1.0], [0.0, 0.5, 0.3, 0.5]),
    "(4.1)": (NonlinearReaction(), None, None),
    "(4.2)": (MassOnCubic(), None, None),
    "bowl": (MassOnSurface(), None, None),
}
STEPS = {2: (20, 40, 80), 4: (16, 24, 36), 6: (18, 24, 32)}


@functools.cache
def start_of(name):
    system, q, v = SYSTEMS[name]
    if q is None:
        start = system.start()
        return np.asarray(start.q0), np.asarray(start.v0)
    found = da.consistent(system, q, v)
    return np.asarray(found.q), np.asarray(found.v)


@functools.cache
def target_of(name):
    return reference_solution(SYSTEMS[name][0], *start_of(name), (0.0, 1.0))


def measured_orders(name, method):
    """The last slopes of the errors of q, p and lam at t = 1."""
    errors, target = [], target_of(name)
    for count in STEPS[method.order]:
        run = da.simulate(SYSTEMS[name][0], method, *start_of(name), t=(0.0, 1.0), h=1.0 / count)
        assert np.max(run.constraint) < 1e-13
        pairs = ((run.q, target.q), (run.p, target.p), (run.lam, target.lam))
        errors.append([np.max(np.abs(found[-1] - exact)) for found, exact in pairs])
    counts = np.log(STEPS[method.order])
    return np.polyfit(-counts, np.log(errors), 1)[0]


def long(name, method):
    return pytest.param(name, method, marks=pytest.mark.long, id=f"{name}-{method.name}")


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("ball", da.gauss_spark(2)),
        ("(4.1)", da.lobatto_spark(3)),
        ("(4.2)", da.gauss_spark(2)),
        ("links", da.Rattle()),
        *[long("ball", m) for m in (da.Shake(), da.gauss_spark(3), da.lobatto_spark(4), da.Galerkin(3, 2))],
        *[long("links", m) for m in (da.gauss_spark(2), da.Galerkin(2), da.Galerkin(2, quadrature="lobatto"))],
        *[long("(4.1)", m) for m in (
            da.Rattle(), da.gauss_spark(3), da.lobatto_spark(3, "ABD"), da.lobatto_spark(3, "C"),
            da.lobatto_spark(4),
        )],
        *[long("(4.2)", m) for m in (da.gauss_spark(1), da.lobatto_spark(3, "D"))],
        *[long("bowl", m) for m in (da.gauss_spark(2), da.gauss_spark(3), da.lobatto_spark(3))],
    ],
)  # fmt: skip
def test_the_order_stays(name, method):
    orders = measured_orders(name, method)
    assert orders[:2] == pytest.approx([method.order] * 2, abs=0.3 if method.order == 6 else 0.2)


def test_galerkin_and_gauss_spark_are_one_method_here_too():
    """Independent programs: one weighs the reactions by the polynomials of q, one by the coefficients of momenta."""
    system, (q, v) = SYSTEMS["links"][0], start_of("links")
    first, second = (
        da.simulate(system, method, q, v, t=(0.0, 1.0), h=0.1) for method in (da.Galerkin(2), da.gauss_spark(2))
    )
    assert np.max(np.abs(first.q - second.q)) < 1e-13
    assert np.max(np.abs(first.p - second.p)) < 1e-12


def test_rattle_is_the_two_stage_lobatto_method_here_too_and_runs_backwards():
    system, (q, v) = SYSTEMS["ball"][0], start_of("ball")
    first, second = (
        da.simulate(system, method, q, v, t=(0.0, 1.0), h=0.05) for method in (da.Rattle(), da.lobatto_spark(2))
    )
    assert np.max(np.abs(first.p - second.p)) < 1e-13
    defect = reversibility_defect(system, da.Rattle(), q, v, (0.0, 0.5), 0.05)
    assert max(defect.q, defect.p) < 1e-13


@pytest.mark.parametrize(
    ("method", "named"),
    [
        (da.euler_spark("I"), "not those of the motion"),
        (da.euler_spark("II"), "not those of the motion"),
        (da.Galerkin(2, project=False), "project=True"),
        (da.Galerkin(2, constraint_quadrature="radau"), 'constraint_quadrature="lobatto"'),
    ],
)
def test_methods_whose_multipliers_are_others_are_refused(method, named):
    with pytest.raises(da.MethodDoesNotFit, match=named):
        da.simulate(SYSTEMS["ball"][0], method, *start_of("ball"), t=(0.0, 0.1), h=0.05)


def test_which_tableaux_have_the_multipliers_of_the_motion():
    methods = [da.gauss_spark(s) for s in (1, 2, 3, 4)]
    methods += [da.lobatto_spark(s, f) for s in (2, 3, 4) for f in ("AB", "ABD", "C", "C*", "D", "AC", "B")]
    assert all(method.tableau.consistent_multipliers for method in methods)
    assert not any(da.euler_spark(kind).tableau.consistent_multipliers for kind in ("I", "II"))
