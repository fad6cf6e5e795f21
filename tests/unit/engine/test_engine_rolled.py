"""Large systems: rolled code gives what straight-line code gives, and its size does not depend on the length."""

import jax
import numpy as np
import pytest
from engine_cases import CASES

import dalembert as da
from dalembert.engine.elimination.array_pivots import alternating
from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.columns import joined, reduced, spread
from dalembert.engine.runners import choice
from dalembert.engine.trace.tracing import trace_with_entries
from dalembert.engine.values.array_values import ArrayEvaluator
from dalembert.gallery import Chain, DoublePendulum, FourBar, Pendulum, SliderCrank

ALWAYS, NEVER = 0, 10**9


@pytest.fixture
def run(tune):
    """simulate with rolled code for systems of any size, or for none."""

    def simulate(rolled_from, *arguments, **options):
        tune(rolled_from=rolled_from)
        choice._native.cache_clear()
        found = da.simulate(*arguments, engine="native", **options)
        choice._native.cache_clear()
        return found

    return simulate


# -- the program in arrays ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["comparisons", "add twice", "matmul"])
def test_functions_and_derivatives_in_arrays(name):
    case = CASES[name]
    program = ArrayProgram()
    outputs, (rows, columns, entries) = trace_with_entries(program, case.flat, program.inputs("x", case.size))
    points = case.points(2)
    numbers = ArrayEvaluator(program, np.concatenate([outputs, entries]))({"x": points.T})
    for k, point in enumerate(points):
        x = jax.numpy.asarray(point)
        jacobian = np.zeros((len(outputs), case.size))
        jacobian[rows, columns] = numbers[len(outputs) :, k]
        np.testing.assert_allclose(numbers[: len(outputs), k], case.flat(x), rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(jacobian, jax.jit(jax.jacfwd(case.flat))(x), rtol=1e-12, atol=1e-13)


def test_equal_operations_are_one_operation():
    program = ArrayProgram()
    x = program.inputs("x", 4)
    first = program.add(program.mul(x, x[::-1]), program.one)
    before = len(program)
    assert np.array_equal(program.add(program.one, program.mul(x[::-1], x)), first)
    assert len(program) == before
    assert len(set(first.tolist())) == 2  # x0 x3 + 1 and x1 x2 + 1


def test_zeros_and_multiples_fold():
    program = ArrayProgram()
    x = program.inputs("x", 3)
    assert not np.any(program.sub(x, x))
    assert not np.any(program.mul(x, program.constants(np.array([0.0, -0.0, 0.0]))))
    assert np.array_equal(program.add(x, program.neg(x)), np.zeros(3))
    assert np.array_equal(program.sub(program.scaled(np.full(3, 3.0), x), program.add(x, x)), x)


def test_ragged_arrays():
    rows, places = spread(np.array([5, 0, 2]), np.array([2, 0, 3]))
    assert rows.tolist() == [0, 0, 2, 2, 2]
    assert places.tolist() == [5, 6, 2, 3, 4]
    left, right = joined(np.array([1, 0, 1]), np.array([1, 2, 1]), 3)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 0), (0, 2), (2, 0), (2, 2)]
    program = ArrayProgram()
    sums = reduced(program, "add", program.constants(np.arange(5.0)), np.array([0, 2, 2, 0, 2]), 3, program.zero)
    assert [program.number(int(node)) for node in sums] == [3.0, 0.0, 7.0]


def test_every_second_comes_first():
    rank = alternating(np.zeros(8, np.int64))
    assert sorted(rank.tolist()) == list(range(8))
    assert max(rank[1::2]) < min(rank[0::2])


# -- runs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "method"),
    [
        (Pendulum(), da.Shake()),
        (DoublePendulum(), da.Rattle()),
        (FourBar(), da.Rattle()),
        (SliderCrank(), da.Rattle()),
        (Chain(links=9), da.Rattle()),
        (Chain(links=9), da.Taylor(4)),
        (FourBar(), da.Taylor(3)),
    ],
    ids=lambda part: type(part).__name__,
)
def test_rolled_is_straight(run, system, method):
    start = system.start()
    options = {"t": (0.0, 200 * start.h), "h": start.h}
    straight = run(NEVER, system, method, start.q0, start.v0, **options)
    rolled = run(ALWAYS, system, method, start.q0, start.v0, **options)
    assert (straight.stats["code"], rolled.stats["code"]) == ("straight-line", "rolled")
    assert straight.status
    assert rolled.status
    np.testing.assert_allclose(rolled.q, straight.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(rolled.p, straight.p, rtol=0, atol=1e-10)
    for size in ("unknowns", "nonzeros"):
        assert rolled.stats[size] == straight.stats[size]


def test_extended_precision_is_rolled_too(run):
    start = Chain(links=4).start()
    options = {"t": (0.0, 50 * start.h), "h": start.h, "precision": "extended"}
    straight, rolled = (
        run(size, Chain(links=4), da.Rattle(), start.q0, start.v0, **options) for size in (NEVER, ALWAYS)
    )
    assert rolled.q.dtype == np.longdouble
    assert float(np.max(np.abs(rolled.q - straight.q))) < 1e-15


def test_step_that_cannot_be_solved_is_reported_alike(run):
    start = Pendulum().start()
    options = {"t": (0.0, 50.0), "h": 25.0, "on_failure": "return"}
    straight, rolled = (run(size, Pendulum(), da.Rattle(), start.q0, start.v0, **options) for size in (NEVER, ALWAYS))
    assert rolled.status.code == straight.status.code


def hanging(links: int) -> tuple[np.ndarray, np.ndarray]:
    """A straight chain, 0.3 rad from the vertical, at rest."""
    reach = np.arange(1, links + 1)
    q0 = np.stack([np.sin(0.3) * reach, 0 * reach, -np.cos(0.3) * reach], axis=1)
    return q0.ravel(), np.zeros(3 * links)


@pytest.fixture(scope="module")
def long_run():
    q0, v0 = hanging(300)
    return da.simulate(Chain(links=300), da.Rattle(), q0, v0, t=(0.0, 0.1), h=1e-3)


def test_three_hundred_links(long_run):
    assert long_run.stats["code"] == "rolled"
    assert long_run.status
    assert long_run.stats["newton_unknowns"] == [300]
    assert np.max(long_run.constraint) < 1e-12
    assert np.max(long_run.hidden) < 1e-11


def test_operations_grow_with_the_links(long_run):
    q0, v0 = hanging(100)
    shorter = da.simulate(Chain(links=100), da.Rattle(), q0, v0, t=(0.0, 0.01), h=1e-3)
    ratio = long_run.stats["operations_per_step"] / shorter.stats["operations_per_step"]
    assert ratio == pytest.approx(3.0, rel=0.03)
