"""Derivatives of a run, against differences of runs; what the structure of a method says of them."""

from __future__ import annotations

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from derivative_cases import HOLONOMIC, MOTIONS, DampedPendulum, TwoLinks, central_difference, methods_for, relative

import dalembert as da
from dalembert.engine import Grid, Task, native_run
from dalembert.engine.derivatives.recorded import Differentiable
from dalembert.gallery import BallInBox, Chain, SlidingBlock
from dalembert.stepping.options import Given, Options
from dalembert.stepping.prologue import begin
from dalembert.stepping.shared_equations import flat_parameters
from dalembert.stepping.step import assemble

CASES = [
    pytest.param(MOTIONS[motion], method, id=f"{motion}-{name}")
    for motion in MOTIONS
    for name, method in methods_for(motion).items()
]
#: every method once
METHODS = {name: method for motion in ("nonholonomic", "holonomic") for name, method in methods_for(motion).items()}


@pytest.mark.long
@pytest.mark.parametrize(("case", "method"), CASES)
def test_gradients_agree_with_differences(case, method):
    expected = central_difference(lambda z: case.value(method, z), 1.0)
    assert relative(jax.grad(lambda z: case.value(method, z))(1.0), expected) <= 1e-10
    assert relative(jax.jvp(lambda z: case.value(method, z), (1.0,), (1.0,))[1], expected) <= 1e-10


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_gradients_agree_with_those_of_xla_and_members_side_by_side_with_single_ones(name):
    case = MOTIONS["holonomic"]

    def slope(z, **options):
        return jax.grad(lambda z: case.value(METHODS[name], z, **options))(z)

    places = jnp.linspace(0.9, 1.1, 9)  # more than fit in one vector
    together = np.asarray(jax.jit(jax.vmap(slope))(places))
    np.testing.assert_allclose(together[4], slope(1.0, engine="xla"), rtol=1e-10)
    np.testing.assert_allclose(together[[0, 8]], [slope(places[0]), slope(places[8])], rtol=1e-11)


def test_a_composition_of_different_methods_is_differentiated_in_compiled_code():
    case, pair = MOTIONS["damped"], HOLONOMIC["pair"]
    engines = []

    def value(z):
        engines.append(case.run(pair, z).stats["engine"])
        return case.value(pair, z)

    assert relative(jax.jit(jax.grad(value))(1.0), central_difference(lambda z: case.value(pair, z), 1.0)) <= 1e-10
    assert engines == ["native (traced)"]


@pytest.mark.parametrize("system", [pytest.param(SlidingBlock, marks=pytest.mark.long), BallInBox])
def test_motions_with_contacts_have_the_derivative_of_their_active_set(system):
    """Through sticking and slipping, and through rebounds that take a step each."""
    start = system().start()
    ends = np.cos(np.arange(len(start.q0)))

    def value(speed):
        v0 = speed * jnp.asarray(start.v0)
        run = da.simulate(system(), da.MoreauJean(), start.q0, v0, t=(0, 1.2), h=0.01, save_every=120)
        return ends @ run.q[-1] + ends @ run.v[-1]

    slope, (_, along) = jax.jit(jax.grad(value))(1.01), jax.jvp(value, (1.01,), (1.0,))
    step = 1e-6
    difference = (value(1.01 + step) - value(1.01 - step)) / (2 * step)
    assert slope == pytest.approx(difference, rel=1e-7)
    assert slope == pytest.approx(float(along), rel=1e-12)
    assert abs(slope) > 0.01


class Steps:
    """Twenty steps of a system, as a function of its state vector."""

    def __init__(self, system: da.System, method: da.Method, q0, v0) -> None:
        start = begin(system, method, Given(q0, v0, None), Options(), 0.0)
        self.layout, self.first = start.layout, np.concatenate([np.ravel(part) for part in start.state])
        functions = assemble(system, method, start.layout, None)
        self.task, self.parameters = Task(functions, True, Grid(20, 1), True), flat_parameters(system)

    def states(self, state):
        """All states."""
        return native_run(self.task, state, 0.0, 0.02, self.parameters)[0]


def two_links(method: da.Method) -> Steps:
    return Steps(TwoLinks(), method, [1.0, 0.0, 0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 0.0, 0.0, 1.0, 0.3])


@pytest.mark.parametrize(
    "method", [da.Rattle(), da.Galerkin(2), da.gauss_spark(2)], ids=["rattle", "galerkin", "spark"]
)
def test_the_tangent_of_a_symplectic_method_keeps_the_symplectic_form(method):
    """dp ^ dq of two tangents of the constraint manifold {g = 0, g_q v = 0} is the same after every step."""
    steps = two_links(method)
    q, p, v = steps.layout.unflatten(steps.first)[:3]
    mass = p / np.where(v == 0, 1.0, v)
    mass[v == 0] = np.array([1.0, 1, 1, 2, 2, 2])[v == 0]

    def constraints(z):
        q, v = z[:6], z[6:] / mass

        def links(q):
            return 0.5 * jnp.array([q[:3] @ q[:3], (q[3:] - q[:3]) @ (q[3:] - q[:3])])

        return jnp.concatenate(jax.jvp(links, (q,), (v,)))

    at = np.asarray(jax.jacfwd(constraints)(jnp.concatenate([q, p])))
    directions = np.linalg.svd(at)[2][at.shape[0] :]  # tangent to the constraints on q and p
    one, other = directions[0], directions[-1]

    def moved(z):
        dots = np.zeros_like(steps.first)
        dots[:12], dots[12:18] = z, z[6:] / mass
        return np.asarray(jax.jvp(steps.states, (jnp.asarray(steps.first),), (jnp.asarray(dots),))[1])

    a, b = moved(one), moved(other)
    form = np.sum(a[:, :6] * b[:, 6:12] - a[:, 6:12] * b[:, :6], axis=1)
    size = np.max(np.linalg.norm(a[:, :12], axis=1) * np.linalg.norm(b[:, :12], axis=1))
    assert np.max(np.abs(form - form[0])) <= 1e-12 * size


def test_the_adjoint_of_a_momentum_is_conserved_along_the_backward_sweep():
    """The angular momentum about the vertical is kept, L(s_k) = L(s_0) on the manifold: its gradient, pulled back
    from the end by the adjoint, is its gradient at the start, along all directions tangent to the manifold."""
    steps = two_links(da.Rattle())
    n = len(steps.first)

    def momentum(state):
        q, p = state[:6].reshape(2, 3), state[6:12].reshape(2, 3)
        return jnp.sum(q[:, 0] * p[:, 1] - q[:, 1] * p[:, 0])

    turn = np.zeros(n)  # all turned about the vertical: tangent to the manifold
    state = steps.layout.unflatten(steps.first)
    for begin_at, part in zip((0, 6, 12), state[:3], strict=True):
        x = np.asarray(part).reshape(2, 3)
        turn[begin_at : begin_at + 6] = np.stack([-x[:, 1], x[:, 0], 0 * x[:, 0]], axis=1).ravel()
    faster = np.zeros(n)  # all velocities larger
    faster[6:18] = steps.first[6:18]
    for k in (5, 20):
        pulled = np.asarray(jax.grad(lambda s, k=k: momentum(steps.states(s)[k]))(jnp.asarray(steps.first)))
        here = np.asarray(jax.grad(momentum)(jnp.asarray(steps.first)))
        for direction in (turn, faster):
            assert pulled @ direction == pytest.approx(here @ direction, abs=2e-13 * np.linalg.norm(pulled))


def test_the_adjoint_of_a_long_chain_is_eliminated_like_its_step():
    """The equations of the adjoint have the transposed pattern: no more than two operations for one of the step, and
    the gradient is that of differences of runs."""
    links, method = 50, da.Rattle()
    reach = np.arange(1.0, links + 1)[:, None]
    q0, v0 = (reach * [0.6, 0.0, -0.8]).ravel(), (reach / links * [0.0, 1.0, 0.0]).ravel()
    chain = Steps(Chain(links=links), method, q0, v0)
    parameters, grid = np.asarray(chain.parameters), Grid(10, 10)
    step = Differentiable(chain.task.functions, compensated=True)
    bar = np.zeros((2, len(chain.first)))
    bar[1, 3 * links - 1] = 1.0

    def run(parameters):
        return step.run(chain.first, 0.0, 0.002, parameters, grid, record=False)

    record = step.record(chain.first, 0.0, 0.002, parameters, grid)
    gradient = step.adjoints(record, 0.0, 0.002, parameters, bar, grid)[-1]
    for k, slope in enumerate(gradient):
        direction = np.eye(len(parameters))[k]
        if slope:
            expected = central_difference(lambda z, d=direction: run(parameters + z * d).saved[1, 3 * links - 1], 0.0)
            assert slope == pytest.approx(expected, rel=1e-8)
    recording = step.recording(step.reads)
    begin = np.append(chain.first, np.zeros(len(step.reads)))
    runner = step._runner(recording, (begin, 0.0, 0.002, parameters), 0.002, 10, sizes=False)
    taken = runner.step.statistics["operations_per_step"]
    assert step._sweeps[False, step.reads]._step.statistics["operations_per_step"] <= 2.0 * taken


LONG_RUN = """
import resource

import jax
import jax.numpy as jnp

import dalembert as da
from dalembert.gallery import Pendulum


def end(gravity):
    start = jnp.array([1.0, 0.0]), jnp.zeros(2)
    return da.simulate(Pendulum(gravity=gravity), da.Rattle(), *start, t=(0, 1000), h=0.001, save_every=1000).q[-1, 0]


slope = jax.grad(end)(9.81)
print(float(slope), float(end(9.81 + 1e-7) - end(9.81 - 1e-7)) / 2e-7)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.long
def test_a_million_steps_are_differentiated_within_a_gigabyte():
    """A record of all of them would be 168 MB, and is copied; that of snapshots is small."""
    told = subprocess.run([sys.executable, "-c", LONG_RUN], capture_output=True, text=True, check=True).stdout.split()
    slope, difference, kilobytes = (float(word) for word in told)
    assert slope == pytest.approx(difference, rel=1e-4)
    assert kilobytes < 1_000_000


SIZES = 0.02 + 0.01 * np.sin(np.arange(30.0))


@pytest.mark.parametrize(
    "method", [da.Rattle(), da.Composition(da.Rattle(), "yoshida4")], ids=["rattle", "composition"]
)
def test_steps_of_given_sizes_are_differentiated(method):
    system_at = MOTIONS["time-dependent"].at

    def value(z):
        run = da.simulate(*with_method(system_at(z), method), t=(0.0, None), h=SIZES, save_every=10)
        return jnp.sum(jnp.asarray(run.q[1:]) * np.arange(1.0, 7.0).reshape(3, 2))

    slopes = [jax.jit(jax.grad(value))(1.0), jax.jvp(value, (1.0,), (1.0,))[1]]
    np.testing.assert_allclose(slopes, central_difference(value, 1.0), rtol=1e-9)
    np.testing.assert_allclose(jax.vmap(value)(jnp.array([1.0, 1.1])), [value(1.0), value(1.1)], rtol=1e-12)


def with_method(start: tuple, method: da.Method) -> tuple:
    system, q0, v0 = start
    return system, method, q0, v0


def test_the_gradient_of_an_adaptive_run_holds_its_steps_fixed():
    """At a tight tolerance that is the derivative of the motion itself."""
    start = [1.0, 0.0], [0.0, 0.5]
    run = da.simulate(DampedPendulum(), da.gauss_spark(2), *start, t=(0, 1), h=da.Adaptive(1e-9, 1e-9, 0.01, 0.1))
    assert len(set(run.h)) > 3
    slope = run.gradient(lambda run: run.q[-1, 0], "damping")["damping"]

    def end(damping):
        fixed = da.simulate(DampedPendulum(damping=damping), da.gauss_spark(2), *start, t=(0, 1), h=0.002)
        return fixed.q[-1, 0]

    assert slope == pytest.approx((end(0.301) - end(0.299)) / 0.002, rel=1e-5)


def test_adaptive_steps_under_jax_are_refused_with_the_cure():
    def end(z):
        return da.simulate(
            DampedPendulum(damping=z), da.Rattle(), [1.0, 0.0], [0.0, 0.5], h=da.Adaptive(1e-6, 1e-6, 0.01, 0.1)
        ).q

    with pytest.raises(da.InputError, match=r"the step sizes of such a run, run\.h"):
        jax.jacfwd(end)(0.3)
