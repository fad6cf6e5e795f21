"""What a cure returns is the solution that begins at h = 0, and what cures may cost is bounded."""

import jax.numpy as jnp
import numpy as np
import pytest
from engine_runners import runner_and_start

import dalembert as da
from dalembert.engine.contract import NOT_CONVERGED, OK, RESCUED_TOO_OFTEN, Chunk, StepFunctions
from dalembert.engine.runners.native import NativeRun
from dalembert.engine.runners.rescue import Rescue
from dalembert.gallery import Pendulum

CURES = {"pivot_changes", "rescued_steps"}


@pytest.mark.parametrize("method", [da.Galerkin(3), da.gauss_spark(3)], ids=repr)
def test_large_steps_of_a_pendulum_stay_on_the_solution_that_is_meant(method):
    """Their equations have several solutions at every inner node; with a wrong one the energy jumps by 1.5 and more."""
    system = Pendulum(length=1.0, mass=1.0, gravity=9.81)
    for angle, rate, h in ((-1.1, 3.4, 0.298), (0.4, -4.1, 0.291), (2.9, 3.1, 0.272), (0.0, 0.0, 0.333)):
        q0, v0 = [np.cos(angle), np.sin(angle)], [-rate * np.sin(angle), rate * np.cos(angle)]
        run = da.simulate(system, method, q0, v0, t=(0.0, 30 * h), h=h)
        assert np.max(np.abs(np.diff(run.energy))) < 0.1


def square(end: float) -> StepFunctions:
    """x^2 = 1 - h / end, with x = 1 for h = 0: the two solutions meet at h = end."""
    return StepFunctions(
        guess=lambda t, h, state, parameters: jnp.ones(1),
        residual=lambda x, t, h, state, parameters: x**2 - (1 - h / end),
        finish=lambda x, t, h, state, parameters: x - state,
        unknowns=("x",),
        equations=("square",),
        blocks=(1,),
        n_state=1,
        summed_blocks=(1,),
        n_parameters=0,
    )


def test_a_solution_is_followed_from_small_steps():
    x = Rescue(square(1.0)).solution(np.ones(1), 0.0, 0.99, np.zeros(0))
    assert x is not None
    np.testing.assert_allclose(x, 0.1, rtol=1e-12)


def test_a_solution_that_ends_before_h_is_none():
    assert Rescue(square(1.0)).solution(np.ones(1), 0.0, 1.01, np.zeros(0)) is None


@pytest.mark.parametrize(
    ("system", "method", "links"),
    [("pendulum", da.Galerkin(3), 0), ("pendulum", da.gauss_spark(2), 0), ("pendulum", da.Rattle(), 0),
     ("chain", da.Galerkin(2), 120)],
    ids=["continued", "continued too", "extrapolated", "in arrays"],
)  # fmt: skip
def test_a_compiled_step_begins_where_it_is_told(system, method, links):
    run, state, parameters = runner_and_start(da.gallery.Chain(links) if links else system, method, 0.05)
    x = run._rescue.solution(state, 0.0, 0.05, parameters)
    carry = run._beginning_at(x, run.first_carry(state), 0.0, 0.05, parameters)
    chunk = run._raw(carry, 0.0, 0.05, 1, 1, parameters)
    assert chunk.status == OK
    assert chunk.residual < 1e-11
    assert np.sum(chunk.iterations) <= 2


def test_after_a_rescued_step_the_next_ones_need_none():
    """From the guess Newton moves so far that the solution it comes to is doubted, in every step."""
    start = Pendulum().start()
    run = da.simulate(Pendulum(), da.Galerkin(5), start.q0, start.v0, t=(0.0, 400.0), h=0.1, save_every=40)
    assert 0 < run.stats["rescued_steps"] < 20
    assert 0 < run.stats["mending_seconds"] < run.stats["wall_seconds"]
    assert np.max(np.abs(run.q - np.asarray(Pendulum().exact(run.t).q))) < 1e-8


def test_a_runner_that_shall_not_mend_fails_at_once():
    """The same first step, for one who would take it again with a smaller h."""
    ends = []
    for mends in (False, True):
        run, state, parameters = runner_and_start(Pendulum(), da.Galerkin(5), 0.1)
        run.mend(mends)
        ends.append(run.run(run.first_carry(state), 0.0, 0.1, 1, 1, parameters, 1).status == OK)
    assert ends == [False, True]


class Bars(da.System):
    """Two rigid bars in the plane, (x, y, angle) each, with damped pin joints."""

    length: float = 1.0
    mass: float = 1.0
    gravity: float = 9.81
    damping: float = 0.2

    def lagrangian(self, t, q, v):
        inertia = self.mass * self.length**2 / 12
        linear = v[0] ** 2 + v[1] ** 2 + v[3] ** 2 + v[4] ** 2
        kinetic = 0.5 * self.mass * linear + 0.5 * inertia * (v[2] ** 2 + v[5] ** 2)
        return kinetic - self.mass * self.gravity * (q[1] + q[4])

    def holonomic(self, t, q):
        half = [0.5 * self.length * jnp.array([jnp.cos(angle), jnp.sin(angle)]) for angle in (q[2], q[5])]
        return jnp.concatenate([q[:2] - half[0], q[3:5] - half[1] - q[:2] - half[0]])

    def force(self, t, q, v):
        between = self.damping * (v[5] - v[2])
        return jnp.array([0.0, 0.0, between - self.damping * v[2], 0.0, 0.0, -between])


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (1e-3, 1e6)])
@pytest.mark.parametrize("method", [da.Rattle(), da.Galerkin(2), da.Composition(da.Rattle(), "yoshida4")], ids=repr)
def test_a_damped_motion_comes_to_rest(method, length, mass):
    """Velocities of 1e-5 and less beside positions of size 1 are known to 1e-13 for h = 0.0005: Newton's updates stop
    shrinking there, far above roundoff of the velocities themselves. That is no failure."""
    unit = np.sqrt(length)
    system = Bars(length=length, mass=mass, damping=5 * mass * length**2 / unit)
    rates = np.array([1e-5, -2e-5]) / unit
    q0 = np.array([0.0, -0.5, -np.pi / 2, 0.0, -1.5, -np.pi / 2]) * [length, length, 1.0, length, length, 1.0]
    first, second = 0.5 * length * rates
    v0 = np.array([first, 0.0, rates[0], 2 * first + second, 0.0, rates[1]])
    h = 0.0005 * unit
    run = da.simulate(system, method, q0, v0, t=(0.0, 5_000 * h), h=h, save_every=500, project=True)
    assert CURES.isdisjoint(run.stats)
    assert np.max(np.abs(run.v[-1])) < 1e-5 / unit
    assert np.max(run.constraint) < 1e-14 * length


def test_rescues_are_not_a_habit(monkeypatch):
    """A step for which Newton begins so far away that it is always rescued."""
    functions = square(1.0)
    run = NativeRun(functions, np.ones(1), 0.0, 0.99, np.zeros(0), True)
    monkeypatch.setattr("dalembert.engine.runners.native.MOST_RESCUES", 3)
    monkeypatch.setattr("dalembert.engine.runners.native.RESCUES_A_STEP", 0)
    monkeypatch.setattr(run, "_raw", lambda carry, *rest: _failed(carry))
    chunk = run.run(run.first_carry(np.ones(1)), 0.0, 0.99, 10, 1, np.zeros(0), 10)
    assert chunk.status == RESCUED_TOO_OFTEN
    assert int(chunk.carry.step) == run.condition[0]["mended"]["rescued_steps"] == 3


def _failed(carry):
    nothing = np.zeros(1, np.int64)
    return Chunk(carry, np.zeros((0, 1)), nothing, nothing, NOT_CONVERGED, 0.0)
