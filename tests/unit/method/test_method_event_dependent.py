"""Event capturing where several contacts of one body stick: their friction directions depend on each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.gallery.many_contacts import BoxStack, RockingBlock

GRAVITY = 9.81


class PushedBox(BoxStack):
    """One box on its two corners, pushed by push sin(2 t)."""

    boxes: int = 1
    push: float = 8.0

    def force(self, t, q, v):
        return jnp.stack([self.push * jnp.sin(2 * t), jnp.zeros(()), jnp.zeros(())])


class PushedPoint(PushedBox):
    """The same box without its corners: the block that does not turn."""

    def gap(self, t, q):
        return q[1:2] - self.half_height

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0, 0.0]])


class CrankInGuide(da.System):
    """A slider-crank whose slider, q = (crank, rod, slider), lies with two corners on the floor of its guide."""

    crank: float = 0.153
    rod: float = 0.306
    friction: float = 0.1
    clearance: float = 0.001

    def places(self, q):
        joint = self.crank * jnp.stack([jnp.cos(q[0]), jnp.sin(q[0])])
        slider = joint + self.rod * jnp.stack([jnp.cos(q[1]), jnp.sin(q[1])])
        return 0.5 * joint, 0.5 * (joint + slider), slider

    def lagrangian(self, t, q, v):
        masses = (0.038, 0.038, 0.076)
        places, speeds = jax.jvp(self.places, (q,), (v,))
        kinetic = sum(0.5 * mass * (u @ u) for mass, u in zip(masses, speeds, strict=True))
        turning = 0.5 * (7.4e-5 * v[0] ** 2 + 5.9e-4 * v[1] ** 2 + 2.7e-6 * v[2] ** 2)
        return kinetic + turning - GRAVITY * sum(mass * x[1] for mass, x in zip(masses, places, strict=True))

    def feet(self, q):
        c, s = jnp.cos(q[2]), jnp.sin(q[2])
        return self.places(q)[2] + jnp.array([[-0.05, -0.025], [0.05, -0.025]]) @ jnp.array([[c, s], [-s, c]])

    def gap(self, t, q):
        return self.feet(q)[:, 1] + 0.025 + self.clearance

    def tangent(self, t, q):
        return jax.jacfwd(lambda q: self.feet(q)[:, 0])(q)

    def start(self, rate):
        """On the floor, the crank at 0.3."""
        crank = 0.3
        rod = np.arcsin((-float(self.clearance) - float(self.crank) * np.sin(crank)) / float(self.rod))
        slope = -float(self.crank) * np.cos(crank) / (float(self.rod) * np.cos(rod))
        return [crank, rod, 0.0], [rate, slope * rate, 0.0]


def test_a_box_that_slides_on_two_corners_comes_to_rest():
    run = da.simulate(
        BoxStack(boxes=1), da.EventCapturing(da.half_explicit(3)), [0.0, 0.25, 0.0], [1.0, 0.0, 0.0], t=(0.0, 1.0),
        h=0.02,
    )  # fmt: skip
    stop = 1 / (0.5 * GRAVITY)
    assert list(run.events.kind) == ["stick", "stick"]
    assert run.events.time == pytest.approx([stop, stop], abs=1e-8)
    assert run.q[-1] == pytest.approx([stop / 2, 0.25, 0.0], abs=1e-12)
    assert np.max(np.abs(run.v[-1])) <= 1e-14
    assert np.all(np.diff(run.energy) <= 1e-14)
    # at rest nothing pulls: the corners share the weight, and no friction of one acts against the other
    assert run.impulse[-1] / 0.02 == pytest.approx(np.array([[GRAVITY / 2, 0.0]] * 2), abs=1e-9)


@pytest.mark.long
def test_a_box_pushed_to_and_fro_moves_as_a_block():
    """Beyond the friction of one corner the other one holds; both together hold as much as the block."""
    runs = [
        da.simulate(box, da.EventCapturing(da.half_explicit(3)), [0.0, 0.25, 0.0], [0.0] * 3, t=(0.0, 6.0), h=0.02)
        for box in (PushedBox(), PushedPoint())
    ]
    assert runs[0].q == pytest.approx(runs[1].q, abs=1e-12)
    assert np.sum(runs[0].impulse, axis=1) == pytest.approx(runs[1].impulse[:, 0], abs=1e-9)
    assert np.all(np.abs(runs[0].impulse[:, :, 1]) <= 0.5 * runs[0].impulse[:, :, 0] + 1e-12)


@pytest.mark.long
def test_a_rocking_block_comes_to_rest_on_both_corners():
    system = RockingBlock()
    start = system.start()
    run = da.simulate(system, da.EventCapturing(da.half_explicit(3)), start.q0, start.v0, t=(0.0, 3.0), h=0.01)
    assert np.max(np.abs(run.v[-1])) <= 1e-14
    assert run.gap[-1] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert np.all(np.diff(run.energy) <= 1e-7)
    assert np.min(run.gap) >= -1e-12


@pytest.mark.long
@pytest.mark.parametrize(("friction", "stops"), [(0.1, False), (0.5, True)])
def test_a_slider_on_two_corners_passes_the_dead_centre(friction, stops):
    """There U_T changes its sign whatever friction does: the friction directions depend on the normal ones."""
    system = CrankInGuide(friction=friction)
    q0, v0 = system.start(-8.0)
    run = da.simulate(system, da.EventCapturing(da.half_explicit(3)), q0, v0, t=(0.0, 1.0), h=1e-3)
    first = run.events[0]
    assert first.kind == "slip"  # it slides the other way
    crank, rod, _ = run.q[np.argmin(np.abs(run.t - first.time))]
    assert np.sin(crank - rod) == pytest.approx(0.0, abs=0.02)  # crank and rod in one line
    assert np.all(np.diff(run.energy) <= 1e-12)
    assert np.max(np.abs(run.gap)) <= 1e-12
    assert ("stick" in run.events.kind) == stops
    assert (np.max(np.abs(run.v[-1])) <= 1e-14) == stops
