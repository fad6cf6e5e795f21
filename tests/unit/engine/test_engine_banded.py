"""Bands: the solver against numpy, and steps that use it against those that do not."""

import ctypes

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sparse
from engine_runners import functions_and_start

import dalembert as da
from dalembert.engine import OK
from dalembert.engine.elimination import array_elimination
from dalembert.engine.elimination.banded import BandedSolver, Places, band_of
from dalembert.engine.machine.compilation import compile_text
from dalembert.engine.runners.native import NativeRun
from dalembert.engine.tuning import tuning


def scrambled(size: int, half_width: int, seed: int) -> np.ndarray:
    """A band whose rows and columns are in disorder; a third of what was its diagonal is zero."""
    random = np.random.default_rng(seed)
    offsets = [k for k in range(-half_width, half_width + 1) if abs(k) < size]
    dense = sparse.diags_array([random.standard_normal(size - abs(k)) for k in offsets], offsets=offsets).toarray()
    dense[np.arange(size), np.arange(size)] *= (random.random(size) > 0.3) | (half_width == 0)
    return dense[random.permutation(size)][:, random.permutation(size)]


def solved(matrix: np.ndarray, rights: np.ndarray, lanes: int, dtype=np.float64) -> np.ndarray:
    """The solutions for several right sides, one call after the other in the same memory."""
    rows, columns = np.nonzero(matrix)
    size = len(matrix)
    band = band_of(rows, columns, 1 / np.abs(matrix).max(axis=1))
    assert band is not None
    solver = BandedSolver("banded", band, "double" if dtype is np.float64 else "x86_fp80", lanes)
    lengths = [len(rows), size, size, solver.storage, size, size, solver.solution, size]
    at = np.cumsum([0, *lengths]).tolist()
    values, right, update, storage, inverses, own_right, solution, scales, end = at
    tables = [band.starts, band.at, values + band.entries, right + band.rows, update + band.columns]
    table_at = np.cumsum([0, *map(len, tables)]).tolist()
    places = Places(storage, inverses, own_right, solution, scales, *table_at[:-1])
    body = "define void @run(ptr %w, ptr %p) {\n call void @banded(ptr %w, ptr %p)\n ret void\n}\n"
    text = "\n".join(sorted(solver.declarations)) + solver.text(places) + body
    code, _ = compile_text(text, 2, "loops")
    function = code.function("run", ctypes.c_void_p, ctypes.c_void_p)
    work, table = np.zeros(end + 8, dtype), np.concatenate(tables).astype(np.int32)
    work[scales : scales + size] = band.scales
    found = []
    for one in rights:
        work[values : values + len(rows)], work[right : right + size] = matrix[rows, columns], one
        function(work.ctypes.data, table.ctypes.data)
        found.append(work[update : update + size].copy())
    return np.array(found)


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize(("size", "half_width"), [(1, 0), (3, 2), (7, 6), (40, 1), (150, 5), (90, 13)])
def test_solutions_are_those_of_a_dense_matrix(size, half_width, lanes):
    matrix = scrambled(size, half_width, seed=size)
    rights = np.random.default_rng(1).standard_normal((3, size))
    expected = np.linalg.solve(matrix, rights.T).T
    scale = np.linalg.cond(matrix) * np.abs(expected).max()
    assert np.abs(solved(matrix, rights, lanes) - expected).max() <= 1e-15 * scale


def test_80_bits_are_used():
    """The residual of the solution, in 80 bits, is smaller than doubles could make it."""
    matrix = scrambled(60, 4, seed=3)
    right = np.random.default_rng(1).standard_normal(60)
    (x,) = solved(matrix, right[None], 1, np.longdouble)
    left = np.abs(matrix.astype(np.longdouble) @ x - right).max()
    assert left <= 1e-17 * np.abs(matrix).max() * np.abs(x).max() * 60


def test_the_order_keeps_neighbours_together():
    matrix = scrambled(300, 3, seed=0)
    band = band_of(*np.nonzero(matrix), np.ones(300))
    assert band is not None
    assert max(band.below, band.above) <= 6


def test_what_is_no_band_is_refused():
    rows, columns = np.divmod(np.arange(200 * 200), 200)
    assert band_of(rows, columns, np.ones(200)) is None


METHODS = [da.Galerkin(2), da.Galerkin(3), da.gauss_spark(2), da.lobatto_spark(3)]


def irregular(*_):
    raise array_elimination.TooIrregular


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_steps_are_as_exact_as_straight_lines(method, monkeypatch, tune):
    """Measured by the same steps in 80 bits; and Newton takes no more than twice the iterations."""
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=12), method)

    def run(**options):
        runner = NativeRun(functions, state, 0.0, 0.01, parameters, compensated=True, **options)
        chunk = runner.run(runner.first_carry(state), 0.0, 0.01, 40, 8, parameters, 10)
        assert chunk.status == OK
        return runner, chunk

    _, straight = run()
    tune(rolled_from=0)
    monkeypatch.setattr(array_elimination, "ArrayFactors", irregular)
    runner, banded = run()
    assert all(block.factored is not None for block in runner.step.reduced.blocks)
    exact = run(extended=True)[1].saved
    errors = [float(np.abs(chunk.saved - exact).max()) for chunk in (straight, banded)]
    assert errors[1] <= 3 * errors[0] <= 1e-8  # multipliers: the rest is a thousand times more exact
    assert banded.iterations.sum() <= 2 * straight.iterations.sum()


def test_a_chain_that_folds_up():
    """Links turn over, so that every entry of the constraints' Jacobian vanishes now and then, and pivots that were
    chosen once for all would fail."""
    system = da.gallery.Chain(links=24)
    start = system.start()
    run = da.simulate(system, da.Galerkin(3), start.q0, start.v0, t=(0.0, 6.0), h=0.005, save_every=100)
    assert run.stats["code"] == "rolled"
    assert "pivot_changes" not in run.stats
    assert np.max(run.constraint) <= 1e-12
    assert np.max(np.abs(run.energy - run.energy[0])) <= 1e-6 * np.abs(run.energy[0])


@pytest.mark.parametrize("links", [16, 21])
def test_loops_with_pivots_that_may_become_small_are_not_taken(links):
    """Eliminated in loops, these chains needed a rescue in most of their steps."""
    system = da.gallery.Chain(links=links)
    start = system.start()
    run = da.simulate(system, da.Galerkin(2), start.q0, start.v0, t=(0.0, 0.3), h=1e-3, save_every=100)
    assert run.stats["code"] == "rolled"
    assert {"guess_restarts", "pivot_changes", "rescued_steps"}.isdisjoint(run.stats)
    assert np.max(np.abs(run.energy - run.energy[0])) <= 1e-9 * np.abs(run.energy[0])


def test_roundoff_of_large_coordinates_is_not_taken_for_missing_convergence():
    """The last links are 700 away from the origin, and their multipliers known to seven digits."""
    system = da.gallery.Chain(links=700)
    start = system.start()
    run = da.simulate(system, da.Galerkin(2), start.q0, start.v0, t=(0.0, 0.02), h=1e-3, save_every=10)
    assert run.stats["code"] == "rolled"
    assert run.stats["newton_iterations"] <= 2 * run.stats["steps"]
    assert np.max(run.constraint) <= 1e-12


def test_a_small_step_that_would_take_too_many_operations_is_a_band():
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=7), da.gauss_spark(3))
    assert tuning().bands_from <= functions.size < tuning().rolled_from
    runner = NativeRun(functions, state, 0.0, 0.01, parameters, compensated=True)
    assert runner.report()["code"] == "rolled"
    assert runner.run(runner.first_carry(state), 0.0, 0.01, 40, 8, parameters, 10).status == OK


def test_and_straight_lines_all_the_same_if_it_is_none(monkeypatch, tune):
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=6), da.Galerkin(2))
    tune(most_straight_operations=5_000)
    monkeypatch.setattr(array_elimination, "solved_anew", lambda *_: None)
    monkeypatch.setattr(array_elimination, "ArrayFactors", irregular)
    runner = NativeRun(functions, state, 0.0, 0.01, parameters, compensated=True)
    assert runner.report()["code"] == "straight-line"


class Ladder(da.System):
    """Rungs joined by linear springs: substituted all along the ladder they would couple every rung with all others."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 9.81 * jnp.sum(q[2::3]) - 2.0 * jnp.sum((q[:-6] - q[6:]) ** 2)

    def holonomic(self, t, q):
        r = q.reshape(-1, 2, 3)
        return 0.5 * (jnp.sum((r[:, 0] - r[:, 1]) ** 2, axis=1) - 1.0)


def test_linear_couplings_along_a_chain_stay_a_band():
    rungs = 20
    r = np.zeros((rungs, 2, 3))
    r[:, :, 0], r[:, 1, 1] = 0.3 * np.arange(rungs)[:, None], 1.0
    run = da.simulate(Ladder(), da.Galerkin(2), r.ravel(), np.zeros(r.size), t=(0.0, 0.5), h=0.005, save_every=10)
    assert run.stats["engine"] == "native"
    assert np.max(run.constraint) <= 1e-14
    assert np.max(np.abs(run.energy - run.energy[0])) <= 1e-8 * np.abs(run.energy[0])
