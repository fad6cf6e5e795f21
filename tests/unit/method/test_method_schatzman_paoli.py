"""Schatzman-Paoli at position level: with friction, with bilateral constraints, implicit in the forces."""

import jax.numpy as jnp
import numpy as np
import pytest
from contact_cases import Block, PendulumAndWall

import dalembert as da


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("friction", "slides"), [(0.2, True), (0.5, False)])
def test_a_block_on_an_incline_sticks_or_slides(theta, friction, slides):
    block = Block(friction=friction)
    run = da.simulate(block, da.SchatzmanPaoli(theta), q0=[0.0, 0.0], v0=[0.0, 0.0], t=(0.0, 1.0), h=0.01)
    rate = -9.81 * (np.sin(0.3) - friction * np.cos(0.3)) if slides else 0.0
    np.testing.assert_allclose(run.v[:, 0], rate * run.t, atol=1e-12)
    np.testing.assert_allclose(run.q[:, 1], 0.0, atol=1e-14)
    free = da.simulate(
        block, da.SchatzmanPaoli(theta, law=da.Frictionless()), q0=[0.0, 0.0], v0=[0.0, 0.0], t=(0.0, 1.0), h=0.01
    )
    np.testing.assert_allclose(free.v[-1, 0], -9.81 * np.sin(0.3), rtol=1e-12)


def test_a_pendulum_against_a_wall():
    """Order 1 through three impacts against event capturing, and the rod keeps its length."""
    start, end = ([0.6, -0.8], [0.0, 0.0]), 2.0
    exact = da.simulate(PendulumAndWall(), da.EventCapturing(da.lobatto_iiia(3)), *start, t=(0.0, end), h=end / 100)
    steps, errors = (401, 809, 1601, 3203), []
    for count in steps:
        run = da.simulate(PendulumAndWall(), da.SchatzmanPaoli(0.5), *start, t=(0.0, end), h=end / count)
        reference = np.interp(run.t, exact.t, exact.q[:, 0])
        errors.append(np.mean(np.abs(run.q[:, 0] - reference)))
        assert np.max(run.constraint) < 1e-13
        assert np.sum(run.impulse > 0) >= 2
    assert -1.3 < np.polyfit(np.log(steps), np.log(errors), 1)[0] < -0.7


class Stiff(da.System):
    """A ball on a stiff spring over a table."""

    restitution: float = 0.5
    stiffness: float = 1e6

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 0.5 * self.stiffness * (q[1] - q[0] - 1) ** 2 - 9.81 * jnp.sum(q)

    def gap(self, t, q):
        return q[:1]


def test_implicit_forces_stand_stiff_springs():
    """h w = 14: beyond the stability of the explicit scheme, which grows without bound."""
    start = {"q0": [0.1, 1.1], "v0": [0.0, 0.0], "t": (0.0, 1.0), "h": 0.01, "on_failure": "return"}
    implicit = da.simulate(Stiff(), da.SchatzmanPaoli(1.0), **start)
    assert implicit.status
    assert np.max(implicit.energy) <= implicit.energy[0] * (1 + 1e-12)
    assert np.max(np.abs(implicit.q[:, 1] - implicit.q[:, 0] - 1)) < 0.01
    explicit = da.simulate(Stiff(), da.SchatzmanPaoli(), **start)
    assert not explicit.status or np.max(np.abs(explicit.q)) > 1e3


def test_its_arguments_are_checked():
    with pytest.raises(da.InputError, match="theta of SchatzmanPaoli must be a number between 0 and 1"):
        da.SchatzmanPaoli(1.5)
    with pytest.raises(da.InputError, match="law must be a contact law"):
        da.SchatzmanPaoli(law="coulomb")
