"""Friction whatever the unit of the gap: Cartesian coordinates of a contact are found where there are any."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.formulation import contact_friction, mechanics_of
from dalembert.gallery.contacts import SlidingBlock
from dalembert.gallery.many_contacts import BoxStack, PainleveRod, RockingBlock
from dalembert.problem import prepared


class Disc(da.System):
    """A disc on a floor, q = (x, y, angle); mass and inertia are one, whatever the radius."""

    radius: float = 0.7
    friction: float = 0.3

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 9.81 * q[1]

    def gap(self, t, q):
        return q[1:2] - self.radius

    def tangent(self, t, q):
        return jnp.stack([jnp.ones(()), jnp.zeros(()), self.radius])[None]


class Capsule(da.System):
    """A capsule in the plane on both of its ends, q = (x, y, angle)."""

    half_length: float = 0.4
    radius: float = 0.1
    friction: float = 0.3

    def lagrangian(self, t, q, v):
        return 0.75 * (v[:2] @ v[:2]) + 0.1 * v[2] ** 2 - 9.81 * q[1]

    def heights(self, q):
        return q[1] + jnp.array([-1.0, 1.0]) * self.half_length * jnp.sin(q[2])

    def gap(self, t, q):
        return self.heights(q) - self.radius

    def tangent(self, t, q):
        arms = self.heights(q) - q[1] - self.radius
        return jnp.stack([jnp.ones(2), jnp.zeros(2), -arms], axis=1)


class Ball(da.System):
    """A ball on a floor, q = (place, quaternion)."""

    radius: float = 0.5
    friction: float = 0.3
    inertia: float = 0.2

    def spin(self, q, v):
        a, b, c, d = q[3:]
        return 2 * jnp.array([[-b, a, -d, c], [-c, d, a, -b], [-d, -c, b, a]]) @ v[3:]

    def lagrangian(self, t, q, v):
        return v[:3] @ v[:3] + 0.5 * self.inertia * (self.spin(q, v) @ self.spin(q, v)) - 9.81 * q[2]

    def gap(self, t, q):
        return q[2:3] - self.radius

    def tangent(self, t, q):
        def slip(v):
            spin = self.spin(q, v)
            return jnp.stack([v[0] - self.radius * spin[1], v[1] + self.radius * spin[0]])

        return jax.jacfwd(slip)(jnp.zeros_like(q))[None]


class Capsule3(Ball):
    """A capsule in space on both of its ends."""

    half_length: float = 0.4

    def arms(self, q):
        a, b, c, d = q[3:]
        axis = jnp.stack([2 * (b * d + a * c), 2 * (c * d - a * b), a**2 - b**2 - c**2 + d**2])
        return jnp.array([-1.0, 1.0])[:, None] * self.half_length * axis - jnp.array([0.0, 0.0, 1.0]) * self.radius

    def gap(self, t, q):
        return q[2] + self.arms(q)[:, 2]

    def tangent(self, t, q):
        def slip(v):
            return (v[:3] + jnp.cross(self.spin(q, v), self.arms(q)))[:, :2]

        return jax.jacfwd(slip)(jnp.zeros_like(q))


class Sliding(da.System):
    """A point inside a circle with the gap R^2 - |q|^2, whose gradient is 2 |q|."""

    radius: float = 1.0
    friction: float = 0.3

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 9.81 * q[1]

    def gap(self, t, q):
        return self.radius**2 - q @ q

    def tangent(self, t, q):
        return jnp.stack([-q[1], q[0]])[None] / jnp.sqrt(q @ q)


class Polar(da.System):
    """The same in polar coordinates, where nothing is Cartesian: the gap is a length."""

    friction: float = 0.3

    def lagrangian(self, t, q, v):
        return 0.5 * (v[0] ** 2 + (q[0] * v[1]) ** 2)

    def gap(self, t, q):
        return 1.0 - q[:1]

    def tangent(self, t, q):
        return jnp.stack([jnp.zeros(()), q[0]])[None]


class Screw(da.System):
    """The height of a nut is its angle times a pitch: the second coordinate is no length, the gap is one."""

    pitch: float = 0.4
    friction: float = 0.3

    def lagrangian(self, t, q, v):
        return 0.5 * (v[0] ** 2 + (self.pitch * v[1]) ** 2) - 9.81 * self.pitch * q[1]

    def gap(self, t, q):
        return self.pitch * q[1:]

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0]])


def scaled(kind: type, gap: float, rows: float) -> type:
    """The class with its gap and its friction rows in other units."""

    class Scaled(kind):
        def gap(self, t, q):
            return gap * super().gap(t, q)

        def tangent(self, t, q):
            return rows * super().tangent(t, q)

    return Scaled


BODIES = {
    SlidingBlock: 2, Disc: 3, Capsule: 3, Ball: 7, Capsule3: 7, RockingBlock: 3, PainleveRod: 3, BoxStack: 9,
}  # fmt: skip


def bound(system, n):
    """The coefficients of friction in the units of the rows, over mu."""
    system = prepared(system)
    q = jnp.asarray(np.random.default_rng(3).uniform(0.3, 0.6, n))
    found = jax.jit(lambda q: contact_friction(mechanics_of(system), jnp.asarray(0.0), q))(q)
    return np.asarray(found) / float(np.max(np.asarray(system.friction)))


@pytest.mark.parametrize("kind", BODIES)
def test_the_friction_bound_is_in_the_units_of_the_rows(kind):
    assert bound(kind(), BODIES[kind]) == pytest.approx(1.0, rel=1e-14)
    assert bound(scaled(kind, 2.0, 1.0)(), BODIES[kind]) == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("kind", [SlidingBlock, Capsule])
def test_friction_directions_have_a_unit_too(kind):
    assert bound(scaled(kind, 1.0, 4.0)(), BODIES[kind]) == pytest.approx(0.25, rel=1e-12)


def test_a_gap_whose_gradient_changes():
    q = np.random.default_rng(3).uniform(0.3, 0.6, 2)
    assert bound(Sliding(), 2) == pytest.approx(2 * np.sqrt(q @ q), rel=1e-12)


@pytest.mark.parametrize("kind", [Polar, Screw])
def test_a_gap_in_lengths_is_left_alone_where_no_coordinates_are_cartesian(kind):
    assert bound(kind(), 2) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", [SlidingBlock, Sliding])
def test_a_motion_does_not_know_the_unit_of_the_gap(kind):
    start = ([0.0, 0.2], [1.0, 0.0]) if kind is SlidingBlock else ([0.3, -0.5], [1.0, 0.5])
    runs = [
        da.simulate(scaled(kind, factor, 1.0)(), da.MoreauJean(), *start, t=(0.0, 0.6), h=0.01)
        for factor in (1.0, 2.0)
    ]  # fmt: skip
    assert np.max(np.abs(runs[0].impulse[..., 1])) > 1e-3
    assert runs[1].q == pytest.approx(runs[0].q, abs=1e-14)
    assert runs[1].impulse[..., 0] == pytest.approx(runs[0].impulse[..., 0] / 2, abs=1e-14)
    assert runs[1].impulse[..., 1] == pytest.approx(runs[0].impulse[..., 1], abs=1e-14)


def test_event_capturing_slides_as_far_whatever_the_unit_of_the_gap():
    system = scaled(SlidingBlock, 2.0, 1.0)(friction=0.7)
    run = da.simulate(system, da.EventCapturing(da.half_explicit(3)), [0.0, 0.0], [-1.0, 0.0], t=(0.0, 0.5), h=0.02)
    exact = SlidingBlock(friction=0.7).exact(run.t, jnp.zeros(2), jnp.array([-1.0, 0.0]))
    assert run.q == pytest.approx(np.asarray(exact.q), abs=1e-7)
    assert list(run.events.kind) == ["stick"]


def test_a_gap_without_a_gradient_where_it_closes_is_refused():
    class Cubed(SlidingBlock):
        def gap(self, t, q):
            return q[1:] ** 3

    with pytest.raises(da.ModelError, match=r"the gradient of gap\[0\] vanishes where the contact is closed"):
        da.simulate(Cubed(), da.MoreauJean(), [0.0, 0.0], [-1.0, 0.0], t=(0.0, 0.5), h=0.02)


@pytest.mark.parametrize("h", [0.01, [0.01] * 30])
@pytest.mark.parametrize("method", [da.MoreauJean(), da.SchatzmanPaoli()])
def test_a_gap_whose_gradient_vanishes_during_the_run_is_named(method, h):
    class Falling(da.System):
        def lagrangian(self, t, q, v):
            return 0.5 * (v @ v) - 9.81 * q[1]

        def gap(self, t, q):
            return jnp.stack([2.0 + q[0], q[1] ** 3])

    run = da.simulate(Falling(), method, [0.0, 0.2], [1.0, 0.0], t=(0.0, 0.3), h=h, on_failure="return")
    assert not run.status
    assert "The gradient of gap[1] vanishes where that contact closes" in run.status.message


def test_finding_the_units_compiles_nothing():
    """Neither alone nor while something else is traced."""

    class Fresh(Capsule):
        """A class whose units nobody has looked for."""

    compiled = []
    jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: compiled.append(name))
    try:
        traced = jax.make_jaxpr(lambda q: contact_friction(mechanics_of(prepared(Fresh())), 0.0, q))(np.zeros(3))
    finally:
        jax.monitoring.clear_event_listeners()
    assert traced.out_avals[0].shape == (2,)
    assert "/jax/core/compile/jaxpr_trace_duration" in compiled
    assert "/jax/core/compile/backend_compile_duration" not in compiled


def test_the_units_are_found_while_something_is_traced_also_where_numbers_need_xla():
    class Stack(BoxStack):
        def gap(self, t, q):
            return super().gap(t, q) * jax.lax.erf_inv(jnp.asarray([0.5])).at[0].set(2.0)

    system = prepared(Stack())
    value = jax.jit(lambda q: contact_friction(mechanics_of(system), 0.0, q))(np.full(9, 0.4))
    assert value == pytest.approx(
        2.0 * np.asarray(contact_friction(mechanics_of(prepared(BoxStack())), 0.0, np.full(9, 0.4)))
    )
