"""Fronts: the solver against numpy, its fill-in, and mechanisms that use it against the sparse engine."""

import ctypes

import numpy as np
import pytest
from benchmarks.trees_and_nets import Tree
from engine_runners import functions_and_start
from random_mechanisms import random_mechanism

import dalembert as da
from dalembert.engine import OK, EngineOptions, choose_engine
from dalembert.engine.code.front_solver import FrontPlaces, FrontSolver
from dalembert.engine.elimination.banded import band_of
from dalembert.engine.elimination.fronts import Fronts, fronts_of
from dalembert.engine.machine.arithmetic import Arithmetic
from dalembert.engine.machine.compilation import compile_text
from dalembert.engine.runners.sparse import SparseRun


def graph(kind: str, nodes: int) -> list[tuple[int, int]]:
    """Which nodes meet."""
    if kind == "chain":
        return [(k, k + 1) for k in range(nodes - 1)]
    if kind == "tree":
        return [((k - 1) // 3, k) for k in range(1, nodes)]
    if kind == "star":
        return [(0, k) for k in range(1, nodes)]
    side = round(nodes**0.5)
    return [(k, k + 1) for k in range(nodes) if (k + 1) % side] + [(k, k + side) for k in range(nodes - side)]


def scrambled(kind: str, nodes: int, each: int, seed: int) -> np.ndarray:
    """A matrix with dense blocks where nodes meet, rows and columns in disorder; a third of its diagonal is zero."""
    random = np.random.default_rng(seed)
    matrix = np.zeros((nodes * each,) * 2)
    for a, b in [*graph(kind, nodes), *[(k, k) for k in range(nodes)]]:
        for i, j in {(a, b), (b, a)}:
            matrix[i * each : (i + 1) * each, j * each : (j + 1) * each] = random.standard_normal((each, each))
    size = len(matrix)
    if each > 1:
        matrix[np.arange(size), np.arange(size)] *= random.random(size) > 0.3
    return matrix[random.permutation(size)][:, random.permutation(size)]


def fronts_for(matrix: np.ndarray) -> Fronts:
    rows, columns = np.nonzero(matrix)
    scales = 1 / np.abs(matrix).max(axis=1)
    return fronts_of(rows, columns, matrix[rows, columns][:, None], scales)


def solved(
    matrix: np.ndarray, rights: np.ndarray, lanes: int, dtype=np.float64, fronts: Fronts | None = None
) -> tuple[np.ndarray, float]:
    """The solutions for several right sides, one call after the other in the same memory; and the last growth."""
    rows, columns = np.nonzero(matrix)
    size, fronts = len(matrix), fronts or fronts_for(matrix)
    solver = FrontSolver("fronts", fronts, Arithmetic(extended=dtype is not np.float64), lanes)
    count = len(rows)
    lengths = [solver.layout.size, count, size, size, size, size, solver.longest, 1, count + size]
    storage, values, right, update, inverses, solution, local, growth, scales, end = np.cumsum([0, *lengths]).tolist()
    entry_to, right_to = solver.targets(storage)
    tables = [values + solver.order, entry_to, right + fronts.rows, right_to, update + fronts.columns]
    *table_at, records = np.cumsum([0, *map(len, tables)]).tolist()
    places = FrontPlaces(storage, inverses, solution, local, growth, scales, records, *table_at)
    text, declarations = solver.text(places)
    body = "define void @run(ptr %w, ptr %p) {\n call void @fronts(ptr %w, ptr %p)\n ret void\n}\n"
    code, _ = compile_text("\n".join(sorted(declarations)) + text + body, 2, "loops")
    function = code.function("run", ctypes.c_void_p, ctypes.c_void_p)
    table = np.concatenate([*tables, solver.records(storage, records)]).astype(np.int32)
    work, found = np.zeros(end + 8, dtype), []
    work[scales : scales + count + size] = solver.scales
    for one in rights:
        work[values : values + count], work[right : right + size] = matrix[rows, columns], one
        function(work.ctypes.data, table.ctypes.data)
        found.append(work[update : update + size].copy())
    return np.array(found), float(work[growth])


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize(
    ("kind", "nodes", "each"),
    [
        ("chain", 1, 1),
        ("chain", 3, 2),
        ("chain", 40, 1),
        ("tree", 40, 4),
        ("star", 20, 3),
        ("net", 49, 2),
        ("net", 9, 9),
    ],
)
def test_solutions_are_those_of_a_dense_matrix(kind, nodes, each, lanes):
    matrix = scrambled(kind, nodes, each, seed=nodes)
    rights = np.random.default_rng(1).standard_normal((3, len(matrix)))
    expected = np.linalg.solve(matrix, rights.T).T
    found, growth = solved(matrix, rights, lanes)
    scale = np.linalg.cond(matrix) * np.abs(expected).max() * max(1.0, growth)
    assert np.abs(found - expected).max() <= 1e-15 * scale


def test_80_bits_are_used():
    """The residual of the solution, in 80 bits, is smaller than doubles could make it."""
    matrix = scrambled("tree", 20, 3, seed=3)
    right = np.random.default_rng(1).standard_normal(len(matrix))
    found, growth = solved(matrix, right[None], 1, np.longdouble)
    left = np.abs(matrix.astype(np.longdouble) @ found[0] - right).max()
    assert left <= 1e-17 * growth * np.abs(matrix).max() * np.abs(found).max() * len(matrix)


def test_a_tree_does_not_fill_up():
    """What a tree costs grows with the number of its nodes; as a band it grows faster."""
    small, large = (fronts_for(scrambled("tree", nodes, 3, seed=0)) for nodes in (40, 364))
    assert large.work <= 10 * small.work
    rows, columns = np.nonzero(scrambled("tree", 364, 3, seed=0))
    band = band_of(rows, columns, np.ones(3 * 364), most_work=10**9)
    assert band is not None
    assert band.work > 50 * large.work


def test_every_unknown_is_a_pivot_once_and_borders_lie_ahead():
    fronts = fronts_for(scrambled("net", 49, 2, seed=4))
    assert sorted(fronts.rows.tolist()) == sorted(fronts.columns.tolist()) == list(range(98))
    ends = np.cumsum(fronts.pivots)
    assert ends[-1] == 98
    for k, border in enumerate(fronts.borders):
        assert np.all(border >= ends[k])
        if len(border):
            parent = fronts.parents[k]
            assert parent > k
            ahead = [*range(ends[parent] - fronts.pivots[parent], ends[parent]), *fronts.borders[parent]]
            assert set(border.tolist()) <= set(ahead)


def test_the_largest_multiplier_of_a_border_is_told():
    """The pivots of a front are small where the system is solved, though large where the order was chosen."""
    start = scrambled("tree", 40, 3, seed=0)
    fronts = fronts_for(start)
    matrix = start.copy()
    matrix[np.ix_(fronts.rows[: fronts.pivots[0]], fronts.columns[: fronts.pivots[0]])] *= 1e-9
    calm, wild = (solved(one, np.ones((1, len(one))), 4, fronts=fronts)[1] for one in (start, matrix))
    assert calm < 1e4
    assert wild > 1e7


def agreement(seed: int) -> float:
    """The largest difference of a random mechanism's states, compiled and by the sparse engine."""
    model, start = random_mechanism(seed)
    return difference(*functions_and_start(model.system("directors"), da.Rattle(), start), steps=20, h=1e-3)


def difference(functions, state, parameters, steps: int, h: float) -> float:
    """The largest difference of the states after some steps, compiled and by the sparse engine."""
    native = choose_engine(functions, state, 0.0, h, parameters, EngineOptions(engine="native"))
    other = SparseRun(functions, True).begin("asked for")
    chunks = [one.run(one.first_carry(state), 0.0, h, steps, steps, parameters, 10) for one in (native, other)]
    assert [chunk.status for chunk in chunks] == [OK, OK]
    moved = functions.n_summed  # without multipliers, of which roundoff is divided by h^2
    a, b = (chunk.saved[-1, :moved] for chunk in chunks)
    return float(np.abs(a - b).max() / max(1.0, np.abs(b).max()))


@pytest.mark.parametrize("seed", [0, 1])
def test_random_mechanisms_agree_with_the_sparse_engine(seed):
    assert agreement(seed) < 1e-10


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 20))
def test_more_random_mechanisms_agree_with_the_sparse_engine(seed):
    assert agreement(seed) < 1e-10


def test_collocation_on_a_tree_is_compiled(tune):
    """A piece of it fills up, and no band of it is narrow."""
    tune(piece_first_from=300)
    tree = Tree(generations=5)
    assert difference(*functions_and_start(tree, da.Galerkin(3)), steps=5, h=1e-3) < 1e-10
