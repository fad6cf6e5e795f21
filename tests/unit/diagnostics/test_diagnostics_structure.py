"""Symplecticity and reversibility: the reversed system, and defects with a known value."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.diagnostics import reference_solution, reversed_system, reversibility_defect, symplectic_defect
from dalembert.gallery import (
    BeadOnRotatingHoop,
    DrivenPendulum,
    HamiltonianSphericalPendulum,
    HarmonicOscillator,
    Pendulum,
)
from dalembert.method import Claims, Method, Step


class NewMomentum(NamedTuple):
    p1: jax.Array


class ExplicitEuler(Method):
    """q1 = q0 + h v0, p1 = p0 + h f(q0): for one oscillator w(DF a, DF b) = (1 + h^2 k/m) w(a, b)."""

    claims: ClassVar[Claims] = Claims(order=1)

    def guess(self, step: Step):
        return NewMomentum(step.start.p)

    def residual(self, x, step: Step):
        start = step.start
        return {"momentum": x.p1 - start.p - step.h * step.mechanics.rate(step.t, start.q, start.v, start.p)}

    def finish(self, x, step: Step):
        """The velocity of an oscillator of unit mass is its momentum."""
        return step.end(dq=step.h * step.start.v, dp=x.p1 - step.start.p, v=x.p1)


def test_defect_of_explicit_euler_is_known():
    start = HarmonicOscillator(mass=1.0, stiffness=4.0).start()
    found = symplectic_defect(HarmonicOscillator(1.0, 4.0), ExplicitEuler(), start.q0, start.v0, 0.0, 0.1)
    assert found == pytest.approx(4.0 * 0.1**2, rel=1e-10)


def test_explicit_euler_does_not_return():
    start = HarmonicOscillator().start()
    found = reversibility_defect(HarmonicOscillator(), ExplicitEuler(), start.q0, start.v0, (0.0, 0.1), 0.1)
    expected = 4.0 * 0.1**2 * np.max(np.abs(start.q0))
    assert found.q == pytest.approx(expected, rel=1e-10)


def test_defect_by_velocity_and_by_momentum_agree():
    system = Pendulum(mass=2.0)
    start = system.start()
    by_velocity = symplectic_defect(system, da.Rattle(), start.q0, start.v0, 0.0, 0.1)
    by_momentum = symplectic_defect(system, da.Rattle(), start.q0, p0=2.0 * start.v0, t0=0.0, h=0.1)
    assert by_velocity == pytest.approx(by_momentum, abs=1e-14)
    assert by_velocity <= 1e-12


@pytest.mark.long
def test_damping_shrinks_the_area():
    """With one degree of freedom w(DF a, DF b) = exp(-c h / m) w(a, b), up to O(h^3).

    On the unit circle w(a, b) = 1 / sqrt(1 + |v|^2) for orthonormal a, b: the tangent space is spanned by
    (0, e) and (e, -|v| q), e the unit tangent, and the second has the squared length 1 + |v|^2.
    """
    system, h = DrivenPendulum(damping=0.5), 0.01
    start = system.start()
    area = 1 / np.sqrt(1 + float(start.v0 @ start.v0))
    found = symplectic_defect(system, da.Rattle(), start.q0, start.v0, 0.0, h)
    assert found == pytest.approx((1 - np.exp(-0.5 * h)) * area, rel=1e-3)


def test_step_that_fails_is_said_to():
    with pytest.raises(da.DalembertError, match="smaller h"):
        symplectic_defect(Pendulum(mass=2.0), da.Rattle(), [0.0, -1.0], [30.0, 0.0], 0.0, 0.1)


@pytest.mark.parametrize("system", [BeadOnRotatingHoop(), DrivenPendulum(), HamiltonianSphericalPendulum()])
def test_reversed_system_undoes_the_motion(system):
    """Forward and back with the tight reference solution: constraint, drive and damping all run backwards."""
    start = system.start()
    end = reference_solution(system, start.q0, start.v0, (0.0, 1.0))
    back = reference_solution(reversed_system(system, 1.0), end.q, p0=-end.p, t=(0.0, 1.0))
    assert np.asarray(back.q) == pytest.approx(np.asarray(start.q0), abs=1e-11)
    assert np.asarray(back.v) == pytest.approx(-np.asarray(start.v0), abs=1e-11)


def test_reversed_systems_share_one_class():
    assert type(reversed_system(Pendulum(), 1.0)) is type(reversed_system(Pendulum(2.0), 3.0))
    assert type(reversed_system(Pendulum(), 1.0)) is not type(reversed_system(DrivenPendulum(), 1.0))


def test_impacts_are_refused():
    ball = da.system(lambda t, q, v: 0.5 * v @ v - q[0], gap=lambda t, q: jnp.atleast_1d(q[0]))
    with pytest.raises(da.InputError, match="impacts are not reversible"):
        reversibility_defect(ball, da.Rattle(), [1.0], [0.0])
