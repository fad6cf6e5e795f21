"""Steps with a bounce as one step program: the same as the loop of events finds, and quick."""

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery.contacts import PendulumAndWall
from dalembert.gallery.impacts import BouncingBall
from dalembert.stepping import event_chunks


class TwoBalls(da.System):
    """One ball above another."""

    restitution: float = 0.95

    def lagrangian(self, t, q, v):
        return 0.5 * v[0] ** 2 + 0.25 * v[1] ** 2 - 9.81 * (q[0] + 0.5 * q[1])

    def gap(self, t, q):
        return jnp.stack([q[0] - 0.1, q[1] - q[0] - 0.2])


class SpinningBall(da.System):
    """A ball on a rough slope; the third coordinate is its angle."""

    friction: float = 0.3
    restitution: float = 0.9

    def lagrangian(self, t, q, v):
        kinetic = 0.5 * (v[0] ** 2 + v[1] ** 2) + 0.002 * v[2] ** 2
        return kinetic - 9.81 * (jnp.sin(0.3) * q[0] + jnp.cos(0.3) * q[1])

    def gap(self, t, q):
        return q[1:2] - 0.1

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0, 0.1]])


class Sleigh(da.System):
    """A blade that glides between two walls: a nonholonomic constraint, and contacts."""

    restitution: float = 0.9

    def lagrangian(self, t, q, v):
        return 0.5 * (v[0] ** 2 + v[1] ** 2) + 0.1 * v[2] ** 2

    def nonholonomic(self, t, q, v):
        return -jnp.sin(q[2]) * v[0] + jnp.cos(q[2]) * v[1]

    def gap(self, t, q):
        return jnp.stack([1.0 - q[0], 1.0 + q[0]])


@pytest.mark.parametrize(
    ("system", "q0", "v0", "tolerance"),
    [
        pytest.param(TwoBalls(), [0.5, 1.2], [0.0, 0.0], 1e-11, marks=pytest.mark.long),
        (SpinningBall(), [0.0, 0.6, 0.0], [1.0, 0.0, 3.0], 1e-11),
        (PendulumAndWall(restitution=0.95, gravity=90.0), [np.sin(0.6), -np.cos(0.6)], [0.0, 0.0], 1e-9),
        pytest.param(Sleigh(), [0.0, 0.0, 0.3], [5 * np.cos(0.3), 5 * np.sin(0.3), 0.2], 1e-11, marks=pytest.mark.long),
    ],
    ids=["two contacts", "friction", "a rod", "a blade"],
)  # fmt: skip
def test_compiled_bounces_are_those_of_the_loop(system, q0, v0, tolerance, monkeypatch):
    """With constraints the loop moves states onto them after an impact, and a compiled step at its end: they differ by
    less than the error of the method."""
    method, options = da.EventCapturing(da.lobatto_iiia(3)), {"t": (0.0, 2.5), "h": 0.005}
    single = da.simulate(system, method, q0, v0, **options)
    monkeypatch.setattr(event_chunks, "FEWEST_BOUNCES", 1)
    monkeypatch.setattr(event_chunks, "MANY_BOUNCES", 0)
    compiled = da.simulate(system, method, q0, v0, **options)
    assert compiled.stats["compiled_steps"] >= single.stats["compiled_steps"] + 2
    assert len(compiled.events) == len(single.events) >= 4
    for name in ("kind", "contact"):
        assert list(getattr(compiled.events, name)) == list(getattr(single.events, name))
    for name in ("time", "before", "after", "impulse"):
        assert getattr(compiled.events, name) == pytest.approx(getattr(single.events, name), abs=tolerance), name
    for name in ("q", "v", "impulse", "lam", "psi"):
        assert getattr(compiled, name) == pytest.approx(getattr(single, name), rel=1e-10, abs=tolerance), name


def test_gauss_and_impacts_without_loss_keep_the_energy_of_a_nonlinear_spring():
    """Symplectic smooth phases, joined by reflections: no drift, where an explicit method of the same order drifts."""

    class Spring(da.System):
        restitution: float = 1.0

        def lagrangian(self, t, q, v):
            return 0.5 * (v @ v) - 0.5 * q[0] ** 2 - 0.25 * q[0] ** 4

        def gap(self, t, q):
            return q + 0.4

    def change(tableau, end):
        run = da.simulate(Spring(), da.EventCapturing(tableau), [1.0], [0.5], t=(0.0, end), h=0.1)
        assert len(run.events) > 0.3 * end
        return np.abs(run.energy / run.energy[0] - 1)

    kept, lost = change(da.gauss_legendre(2), 200.0), change(da.half_explicit(4), 200.0)
    assert np.max(kept) < 2e-6
    assert np.max(kept[-400:]) < 1.2 * np.max(kept[:400])
    assert lost[-1] > 100 * np.max(kept)


def test_many_bounces_keep_their_rhythm():
    """Without loss a ball from the height 1 hits every 2 sqrt(2 / g)."""
    ball = BouncingBall(gravity=2.1, restitution=1.0)
    run = da.simulate(ball, da.EventCapturing(da.lobatto_iiia(3)), [1.0], [0.0], t=(0.0, 2400.0), h=0.05)
    times = np.sqrt(2 / 2.1) * np.arange(1, 2 * len(run.events), 2)
    assert len(run.events) == 1230
    assert run.stats["compiled_steps"] >= 47_900  # but for the first ten bounces
    assert run.events.time == pytest.approx(times, abs=1e-9)
    assert np.ptp(run.energy) <= 1e-12
