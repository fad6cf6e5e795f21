"""The engine for large irregular systems gives the trajectory of the others, on small ones."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg as sparse_linalg

import dalembert as da
from dalembert.engine import NOT_CONVERGED, OK, EngineOptions, choose_engine
from dalembert.engine.contract import StepFunctions
from dalembert.engine.elimination import array_elimination
from dalembert.engine.runners import choice, sparse_newton
from dalembert.engine.runners.native import TooLarge
from dalembert.engine.runners.sparse import SparseRun
from dalembert.gallery.springs_and_bars import Lattice
from dalembert.problem import prepared
from dalembert.stepping.consistent import prepare_start
from dalembert.stepping.shared_equations import flat_parameters
from dalembert.stepping.step import assemble


def runners(system, method, h):
    """The sparse engine and the native one, with state and parameters."""
    system, start = prepared(system), system.start()
    begun = prepare_start(system, start.q0, start.v0, None, 0.0, project=False, redundant="refuse")
    functions = assemble(system, method, begun.layout, begun.rows)
    state, parameters = np.asarray(begun.layout.flatten(begun.state)), np.asarray(flat_parameters(system))
    native = choose_engine(functions, state, 0.0, h, parameters, EngineOptions(engine="native"))
    return SparseRun(functions, True).begin("asked for"), native, state, parameters


@pytest.mark.parametrize(
    "method", [da.Rattle(), da.Galerkin(2), da.EnergyMomentum(), da.Composition(da.Rattle(), "suzuki4")]
)
def test_it_agrees_with_the_native_engine(method):
    sparse, native, state, parameters = runners(Lattice(cells=1), method, 0.01)
    ends = [one.run(one.first_carry(state), 0.0, 0.01, 100, 10, parameters, 100).saved for one in (sparse, native)]
    assert ends[0].shape == ends[1].shape == (10, len(state))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-10)


def test_factorisations_are_used_again():
    sparse, _, state, parameters = runners(Lattice(cells=1), da.EnergyMomentum(), 0.002)
    chunk = sparse.run(sparse.first_carry(state), 0.0, 0.002, 100, 1, parameters, 100)
    assert chunk.status == OK
    assert sparse.report()["factorisations"] < 60
    assert sparse.report()["engine_reason"] == "asked for"


def test_a_step_that_cannot_be_taken_is_reported():
    sparse, _, state, parameters = runners(da.gallery.Pendulum(), da.Rattle(), 0.01)
    chunk = sparse.run(sparse.first_carry(state), 0.0, 50.0, 3, 1, parameters, 3)
    assert chunk.status == NOT_CONVERGED
    assert int(chunk.carry.step) == len(chunk.saved)


class FarAway(da.gallery.Chain):
    """A chain whose coordinates are large: their roundoff, divided by h^2, is what multipliers can be known to."""

    offset: float = 1e7

    def holonomic(self, t, q):
        return super().holonomic(t, q - self.offset)

    def start(self):
        near = super().start()
        return near._replace(q0=np.asarray(near.q0) + self.offset)


def test_roundoff_of_large_coordinates_ends_an_iteration(monkeypatch):
    sparse, _, state, parameters = runners(FarAway(links=3), da.Galerkin(3), 1e-3)
    chunk = sparse.run(sparse.first_carry(state), 0.0, 1e-3, 40, 40, parameters, 1)
    assert chunk.status == OK
    monkeypatch.setattr("dalembert.engine.runners.sparse_newton.LARGEST_NOISE", 0.0)
    chunk = sparse.run(sparse.first_carry(state), 0.0, 1e-3, 40, 40, parameters, 1)
    assert chunk.status == OK
    assert sparse.report()["rescued_steps"] == 40  # without the measurement every step goes to the rescue, which has it


@pytest.mark.parametrize(
    ("system", "least", "most"), [(da.gallery.Chain(links=3), 0.0, 1e-7), (FarAway(links=3), 1e-6, 1.0)]
)
def test_what_is_measured_is_roundoff_not_the_update(system, least, most):
    """Unknowns a little beside the solution have the same roundoff."""
    sparse, _, state, parameters = runners(system, da.Galerkin(3), 1e-3)
    end = sparse.run(sparse.first_carry(state), 0.0, 1e-3, 3, 3, parameters, 1).carry
    arguments = (np.array(2e-3), np.array(1e-3), end.state, parameters)
    x = end.history[0] * (1 + 1e-4)
    (newton,) = sparse._newton.values()
    solve = sparse_linalg.splu(scipy.sparse.csc_matrix(newton.residual(x, *arguments)[1])).solve
    assert least <= newton.anew(arguments)._noise(x, solve, tuple(part[None] for part in arguments)) <= most


class Net(da.System):
    """Threads side by side, tied to their neighbours: neither loops nor a narrow band."""

    side: int = 20

    def lagrangian(self, t, q, v):
        r = q.reshape(self.side, self.side, 3)
        across = jnp.sum((r[:, 1:] - r[:, :-1]) ** 2, axis=-1)
        return 0.5 * v @ v - q[2::3].sum() - 5.0 * jnp.sum((across - 1.0) ** 2)

    def holonomic(self, t, q):
        r = q.reshape(self.side, self.side, 3)
        return 0.5 * (jnp.sum((r[1:] - r[:-1]) ** 2, axis=-1) - 1.0).ravel()


def test_large_irregular_systems_take_it(monkeypatch):
    """Systems with too many multiplications in a band and in fronts."""
    monkeypatch.setattr(array_elimination, "solved_anew", lambda *_: None)
    places = np.arange(20.0)
    q = np.stack([*np.meshgrid(places, places, indexing="ij"), np.zeros((20, 20))], axis=-1).ravel()
    run = da.simulate(Net(), da.Galerkin(2), q, np.zeros(1200), t=(0.0, 0.03), h=0.01)
    assert run.stats["engine"] == "sparse"
    assert "do not fall into loops" in run.stats["engine_reason"]
    assert np.max(np.abs(run.energy - run.energy[0])) < 1e-6
    assert np.max(run.constraint) < 1e-13


def test_that_a_step_cannot_be_compiled_is_found_out_once(monkeypatch):
    """And what is kept of it is the reason, not the translation that failed."""
    asked = []

    def refused(*arguments):
        asked.append(arguments)
        raise TooLarge("its equations are many")

    monkeypatch.setattr(choice, "NativeRun", refused)
    choice._native.cache_clear()
    system = da.gallery.system_named("pendulum")()
    start = system.start()
    for h in (0.01, 0.02):
        run = da.simulate(system, da.Galerkin(2), start.q0, start.v0, t=(0.0, 0.1), h=h)
        assert run.stats["engine"] == "sparse"
        assert run.stats["engine_reason"] == "its equations are many"
    assert len(asked) == 1
    assert choice._made(refused).__traceback__ is None
    choice._native.cache_clear()


def test_phases_of_a_step_that_cannot_be_compiled_are_taken_one_after_the_other(monkeypatch):
    """Each solves for its own unknowns only."""
    system, method = da.gallery.system_named("chain")(), da.Composition(da.Rattle(), "suzuki4")
    start = system.start()
    expected = da.simulate(system, method, start.q0, start.v0, t=(0.0, 0.2), h=0.01)

    def refused(*arguments):
        raise TooLarge("its equations are many")

    monkeypatch.setattr(choice, "PhasedRun", refused)
    choice._phased.cache_clear()
    run = da.simulate(system, method, start.q0, start.v0, t=(0.0, 0.2), h=0.01)
    choice._phased.cache_clear()
    assert run.stats["engine"] == "sparse"
    assert run.stats["phases"] == 5
    assert run.stats["unknowns"] == expected.stats["unknowns"]
    np.testing.assert_allclose(run.q, expected.q, atol=1e-12)


class Triangle(da.System):
    """Three bodies on rods in free fall: every multiplier is zero."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * q[2::3].sum()

    def holonomic(self, t, q):
        r = q.reshape(3, 3)
        return 0.5 * (jnp.sum((r - jnp.roll(r, 1, axis=0)) ** 2, axis=1) - 1.0)

    def start(self):
        corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, np.sqrt(0.75), 0.0]])
        turned = corners @ np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
        return da.gallery.Start(turned.ravel(), np.zeros(9), 0.05, 0.001)


@pytest.mark.parametrize("method", [da.Galerkin(3), da.gauss_spark(2)])
def test_multipliers_that_are_zero_have_a_scale(method):
    """That of the other terms in their equations; they do not enter the new state."""
    sparse, _, state, parameters = runners(Triangle(), method, 1e-3)
    chunk = sparse.run(sparse.first_carry(state), 0.0, 1e-3, 50, 50, parameters, 1)
    assert chunk.status == OK
    assert sparse.report()["rescued_steps"] == 0
    assert sparse.report()["factorisations"] < 60
    fallen = chunk.carry.state[2:9:3] - state[2:9:3]
    np.testing.assert_allclose(fallen, -0.5 * 9.81 * 0.05**2, atol=1e-14)


def test_a_solution_that_is_not_the_one_that_begins_at_h_0_is_not_taken():
    """x^2 = 1 - h begins at x = 1; from this guess Newton finds the negative solution for h > 1/3."""
    functions = StepFunctions(
        guess=lambda t, h, state, parameters: jnp.ones(1) - 3 * h,
        residual=lambda x, t, h, state, parameters: x**2 - (1 - h),
        finish=lambda x, t, h, state, parameters: x - state,
        unknowns=("x",), equations=("square",), blocks=(1,), n_state=1, summed_blocks=(1,), n_parameters=0,
    )  # fmt: skip
    run = SparseRun(functions, True).begin("asked for")
    chunk = run.run(run.first_carry(np.ones(1)), 0.0, 0.75, 1, 1, np.zeros(0), 1)
    assert chunk.status == OK
    assert run.report()["rescued_steps"] == 1
    np.testing.assert_allclose(chunk.saved[0], 0.5, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_sign_of_a_determinant_from_its_factors(seed):
    random = np.random.default_rng(seed)
    matrix = random.standard_normal((9, 9)) * (random.random((9, 9)) < 0.5) + np.eye(9)
    factors = sparse_linalg.splu(scipy.sparse.csc_matrix(matrix))
    assert sparse_newton._sign_of_determinant(factors) == np.sign(np.linalg.det(matrix))
