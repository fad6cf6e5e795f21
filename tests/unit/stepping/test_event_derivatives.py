"""Derivatives of event capturing against differences of the runs themselves."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.errors import InputError
from dalembert.gallery import BouncingBall
from dalembert.stepping import event_chunks

ORDER_FOUR = da.EventCapturing(da.lobatto_iiia(3))


class Rough(da.System):
    """A ball that spins, on rough ground."""

    friction: float = 0.1
    restitution: float = 0.6
    gravity: float = 9.81
    radius: float = 0.1

    def lagrangian(self, t, q, v):
        inertia = jnp.array([1.0, 1.0, 0.4 * self.radius**2])
        return 0.5 * jnp.sum(inertia * v**2) - self.gravity * q[1]

    def gap(self, t, q):
        return jnp.array([q[1] - self.radius])

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0, self.radius]])


class Dragged(da.System):
    """A block on a rough plane, pulled to and fro by a spring: it sticks, slips, and halts."""

    stiffness: float = 3.0
    friction: float = 0.4
    reach: float = 2.0

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[1] - 0.5 * self.stiffness * (q[0] - self.reach * jnp.sin(3 * t)) ** 2

    def gap(self, t, q):
        return q[1:]

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0]])


class AtAWall(da.System):
    """A damped pendulum that hits a wall."""

    gravity: float = 9.81
    restitution: float = 0.8
    damping: float = 0.1
    wall: float = -0.2

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def holonomic(self, t, q):
        return jnp.array([q @ q - 1.0])

    def force(self, t, q, v):
        return -self.damping * v

    def gap(self, t, q):
        return jnp.array([q[0] - self.wall])


class Carriages(da.HamiltonianSystem):
    """Two carriages with a spring between them, before a wall: many bounces, as a Hamiltonian."""

    stiffness: float = 40.0
    restitution: float = 0.7

    def hamiltonian(self, t, q, p):
        spring = 0.5 * self.stiffness * (q[1] - q[0] - 1) ** 2
        return 0.5 * (p[0] ** 2 + p[1] ** 2 / 2) + spring - 3 * (q[0] + 2 * q[1])

    def gap(self, t, q):
        return jnp.array([3.0 - q[1], q[1] - q[0] - 0.2])


CASES = {
    "rough": (Rough, ("friction", "restitution"), [0.0, 1.0, 0.0], [2.0, 0.0, 1.0], (0.0, 1.0), 0.02, ("impact",)),
    "dragged": (
        Dragged, ("stiffness", "friction", "reach"), [0.0, 0.0], [0.1, 0.0], (0.0, 1.5), 0.02, ("slip", "stick"),
    ),
    "wall": (AtAWall, ("gravity", "damping", "wall"), [0.6, -0.8], [0.0, 0.0], (0.0, 1.0), 0.02, ("impact",)),
    "carriages": (Carriages, ("stiffness", "restitution"), [0.0, 1.0], [0.5, 0.2], (0.0, 2.0), 0.004, ("impact",)),
}  # fmt: skip


def value_of(case: str, save_every: int = 1):
    """A number of a run as a function of its parameters and its starting velocity (or momentum)."""
    kind, names, q0, _, t, h, _ = CASES[case]
    second = "p0" if issubclass(kind, da.HamiltonianSystem) else "v0"

    def run(numbers, start):
        system = kind(**dict(zip(names, numbers, strict=True)))
        return da.simulate(system, ORDER_FOUR, q0=q0, **{second: start}, t=t, h=h, save_every=save_every)

    def value(numbers, start):
        found = run(numbers, start)
        half = len(found.t) // 2
        whole = jnp.sum(jnp.sin(found.q[-1])) + 0.3 * jnp.sum(found.v[-1]) + jnp.sum(found.p[half])
        return whole + 1e-3 * jnp.sum(found.q**2) + 0.01 * jnp.sum(found.lam[-1])

    return run, value


def differences(value, numbers, start, step: float = 1e-6):
    """Central differences by every number of the first argument."""
    moved = step * np.diag(np.maximum(1.0, np.abs(numbers)))
    return [float(value(numbers + e, start) - value(numbers - e, start)) / (2 * e.sum()) for e in moved]


LONG = [pytest.param(case, marks=pytest.mark.long) for case in ("dragged", "carriages")]


@pytest.mark.parametrize("case", ["rough", "wall", *LONG])
def test_gradients_go_through_events(case):
    kind, names, _, start, *_, expected = CASES[case]
    numbers, start = np.array([getattr(kind(), name) for name in names]), np.array(start)
    run, value = value_of(case)
    assert set(expected) <= set(run(numbers, start).events.kind)
    found = jax.grad(value)(numbers, start)
    np.testing.assert_allclose(found, differences(value, numbers, start), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("case", ["rough", pytest.param("wall", marks=pytest.mark.long)])
def test_where_bounces_are_compiled_derivatives_are_the_same(case, monkeypatch):
    kind, names, _, start, *_ = CASES[case]
    numbers, start = np.array([getattr(kind(), name) for name in names]), np.array(start)
    run, value = value_of(case)
    alone, before = jax.grad(value, argnums=(0, 1))(numbers, start), run(numbers, start)
    jax.clear_caches()
    monkeypatch.setattr(event_chunks, "FEWEST_BOUNCES", 0)
    monkeypatch.setattr(event_chunks, "MANY_BOUNCES", 0)
    assert run(numbers, start).stats["compiled_steps"] > before.stats["compiled_steps"]
    together = jax.grad(value, argnums=(0, 1))(numbers + 0.0, start)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


def test_the_tangent_is_the_transpose_of_the_adjoint_and_save_every_changes_nothing():
    numbers, start = np.array([0.02, 0.6]), np.array([2.0, 0.0, 1.0])  # so little friction that the ball slides
    _, value = value_of("rough", save_every=5)
    by_all, by_start = jax.grad(value, argnums=(0, 1))(numbers, start)
    directions = np.array([0.3, -0.2]), np.array([0.5, 0.1, -1.0])
    _, along = jax.jvp(value, (numbers, start), directions)
    np.testing.assert_allclose(along, by_all @ directions[0] + by_start @ directions[1], rtol=1e-12)
    assert by_all[0] != 0  # friction matters where the ball slides
    np.testing.assert_allclose(by_all, differences(value, numbers, start), rtol=2e-6)


def test_jit_and_vmap_give_the_same_numbers():
    start, numbers = np.array([2.0, 0.0, 1.0]), np.array([[0.1, 0.6], [0.02, 0.5], [0.1, 0.4]])
    _, value = value_of("rough")
    alone = [jax.grad(value)(one, start) for one in numbers]
    np.testing.assert_array_equal(jax.jit(jax.grad(value))(numbers[0], start), alone[0])
    np.testing.assert_array_equal(jax.vmap(jax.grad(value), in_axes=(0, None))(jnp.asarray(numbers), start), alone)


def test_a_run_can_be_asked_for_its_gradient():
    run = da.simulate(Rough(), ORDER_FOUR, q0=[0.0, 1.0, 0.0], v0=[2.0, 0.0, 1.0], t=(0.0, 1.0), h=0.02)
    found = run.gradient(of=lambda run: run.q[-1, 1], wrt=["restitution", "v0"])
    moved = da.sensitivity(
        Rough(), ORDER_FOUR, [0.0, 1.0, 0.0], [2.0, 0.0, 1.0], t=(0.0, 1.0), h=0.02, wrt="restitution"
    )
    np.testing.assert_allclose(found["restitution"], moved.q[-1, 1, 0], rtol=1e-12)


def test_the_height_of_a_second_bounce_is_known_in_closed_form():
    """A ball falls from the height 1, hits the ground at the time t1 of a whole step and leaves it with e g t1."""

    def height(e, g):
        ball = BouncingBall(gravity=g, restitution=e)
        run = da.simulate(ball, ORDER_FOUR, q0=[1.0], v0=[0.0], t=(0.0, 1.5), h=0.02)  # an event is located to h^5
        return run.q[-1, 0]

    def exact(e, g):
        fall = jnp.sqrt(2 / g)
        return e * g * fall * (1.5 - fall) - 0.5 * g * (1.5 - fall) ** 2

    for gravity in (2.0, 2.3):
        found, wanted = (jax.grad(one, argnums=(0, 1))(0.5, gravity) for one in (height, exact))
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7)


def test_a_block_that_halts_and_turns_round_has_a_derivative():
    """It slides up a slope with a = g (sin + mu cos) to the height 1 / (2 a), and down with b = g (sin - mu cos)."""
    block = da.gallery.SlidingBlock()
    start, (sine, cosine) = block.start(), (np.sin(block.angle), np.cos(block.angle))

    def exact(mu):
        up, down = block.gravity * (sine + mu * cosine), block.gravity * (sine - mu * cosine)
        return -1 / (2 * up) + 0.5 * down * (1.0 - 1 / up) ** 2

    found = da.sensitivity(block, ORDER_FOUR, start.q0, start.v0, t=(0.0, 1.0), h=0.02, wrt="friction")
    np.testing.assert_allclose(found.q[-1, 0, 0], jax.grad(exact)(block.friction), rtol=1e-7)


class TwoFeet(da.System):
    """A table that hardly turns on two rough feet: the forces along the ground are not unique."""

    gravity: float = 2.0
    friction: float = 0.5

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - self.gravity * q[1]

    def gap(self, t, q):
        return jnp.stack([q[1] - q[2], q[1] + q[2]])

    def tangent(self, t, q):
        return jnp.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])


def test_what_has_no_derivative_is_refused():
    def height(g):
        run = da.simulate(TwoFeet(gravity=g), ORDER_FOUR, q0=np.zeros(3), v0=np.zeros(3), t=(0.0, 0.2), h=0.05)
        return run.q[-1, 0]

    with pytest.raises(InputError, match="depend on each other"):
        jax.grad(height)(2.0)
    _, value = value_of("rough")
    with pytest.raises(InputError, match="second derivatives"):
        jax.hessian(value)(np.array([0.1, 0.6]), np.array([2.0, 0.0, 1.0]))
