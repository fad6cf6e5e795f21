"""Norms of the difference of motions with jumps: closed forms, and graphs against dense samples."""

import time
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import dalembert as da
from dalembert.errors import InputError

DELTA, JUMP = 0.03, 1.7
STEP = (np.array([0.0, 0.5, 0.5, 1.0]), np.array([0.0, 0.0, JUMP, JUMP]))
SHIFTED = (np.array([0.0, 0.5 + DELTA, 0.5 + DELTA, 1.0]), np.array([0.0, 0.0, JUMP, JUMP]))


def shifted_step(t):
    return JUMP if t >= 0.5 + DELTA else 0.0


@pytest.mark.parametrize("exact", [SHIFTED, shifted_step])
def test_shifted_step(exact):
    options = {"jump_times": [0.5 + DELTA]} if callable(exact) else {}
    assert da.l1_error(*STEP, exact, **options) == pytest.approx(DELTA * JUMP, rel=1e-12)
    assert da.l2_error(*STEP, exact, **options) == pytest.approx(np.sqrt(DELTA) * JUMP, rel=1e-12)
    assert da.uniform_error(*STEP, exact, **options) == pytest.approx(JUMP, rel=1e-14)


@pytest.mark.parametrize("norm", ["max", "euclid"])
def test_shifted_step_as_a_filled_in_graph(norm):
    assert da.hausdorff_distance(*STEP, *SHIFTED, norm) == pytest.approx(DELTA, rel=1e-9)
    assert da.hausdorff_distance(*STEP, *STEP, norm) == 0.0


def test_step_with_a_smaller_jump():
    """Beside the step, the graphs differ by the difference of the heights; before it, not at all."""
    small = (STEP[0], 0.9 * STEP[1])
    assert da.l1_error(*STEP, small) == pytest.approx(0.05 * JUMP, rel=1e-12)
    assert da.uniform_error(*STEP, small) == pytest.approx(0.1 * JUMP, rel=1e-12)
    assert da.hausdorff_distance(*STEP, *small) == pytest.approx(0.1 * JUMP, rel=1e-9)


def test_piecewise_constant_is_continuous_from_the_right():
    t, x = np.array([0.0, 0.25, 1.0]), np.array([1.0, 3.0, 5.0])
    as_line = (np.array([0.0, 0.25, 0.25, 1.0, 1.0]), np.array([1.0, 1.0, 3.0, 3.0, 5.0]))
    assert da.l1_error(t, x, as_line, interpolation="constant") == 0.0
    assert da.uniform_error(t, x, as_line, interpolation="constant") == 0.0
    assert da.hausdorff_distance(t, x, *as_line, interpolation_a="constant") == 0.0
    assert da.l1_error(t, x, lambda t: 1.0, interpolation="constant") == pytest.approx(1.5, rel=1e-12)
    assert da.uniform_error(t, x, lambda t: 1.0, interpolation="constant") == 4.0
    assert da.l2_error(*as_line, (t, x), exact_interpolation="constant") == 0.0


def test_smooth_functions():
    """x = t on a coarse grid against t^2: exact where Gauss is exact, with the maximum seen at a grid point."""
    t = np.linspace(0.0, 1.0, 5)
    assert da.l1_error(t, t, lambda t: t**2) == pytest.approx(1 / 6, rel=1e-12)
    assert da.l2_error(t, t, lambda t: t**2) == pytest.approx(np.sqrt(1 / 30), rel=1e-12)
    assert da.uniform_error(t, t, lambda t: t**2) == pytest.approx(0.25, rel=1e-12)


def test_vectors_and_different_grids():
    rng = np.random.default_rng(0)
    t, s = np.sort(np.r_[0.0, 1.0, rng.random(4)]), np.sort(np.r_[-0.1, 1.2, rng.random(5)])
    x, y = rng.standard_normal((6, 3)), rng.standard_normal((7, 3))

    def distance(time):
        return np.sqrt(sum((np.interp(time, t, x[:, k]) - np.interp(time, s, y[:, k])) ** 2 for k in range(3)))

    grid = np.unique(np.r_[t, s[(s > 0) & (s < 1)]])
    pieces = list(pairwise(grid))
    l1 = sum(quad(distance, *piece, epsabs=1e-13, epsrel=1e-12)[0] for piece in pieces)
    l2 = np.sqrt(sum(quad(lambda time: distance(time) ** 2, *piece, epsabs=1e-13)[0] for piece in pieces))
    assert da.l1_error(t, x, (s, y)) == pytest.approx(l1, rel=1e-10)
    assert da.l2_error(t, x, (s, y)) == pytest.approx(l2, rel=1e-10)
    assert da.uniform_error(t, x, (s, y)) == pytest.approx(max(distance(time) for time in grid), rel=1e-12)


@pytest.mark.parametrize(
    ("first", "last"), [(1.0, -1.0), (1.0, -0.5), (1.0, 1.0), (1.0, 1.0001), (0.0, 2.0), (0.0, 0.0)]
)
def test_sign_changes_inside_an_interval(first, last):
    exact = quad(lambda t: abs(first + t * (last - first)), 0.0, 1.0, points=[0.5, 2 / 3])[0]
    found = da.l1_error([0.0, 1.0], [first, last], ([0.0, 1.0], [0.0, 0.0]))
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-15)


def sampled_distance(a, b, norm, spacing):
    """The Hausdorff distance of dense samples, at most `spacing` from the exact one."""

    def samples(t, x):
        points = np.column_stack([t, x])
        parts = []
        for begin, end in pairwise(points):
            count = 1 + int(np.ceil(np.linalg.norm(end - begin) / spacing))
            parts.append(begin + np.linspace(0.0, 1.0, count + 1)[:, None] * (end - begin))
        return np.concatenate(parts)

    A, B = samples(*a), samples(*b)
    difference = np.abs(A[:, None, :] - B[None, :, :])
    along = np.linalg.norm(difference[:, :, 1:], axis=2)
    distances = np.hypot(along, difference[:, :, 0]) if norm == "euclid" else np.maximum(along, difference[:, :, 0])
    return max(np.max(np.min(distances, axis=0)), np.max(np.min(distances, axis=1)))


@pytest.mark.parametrize("norm", ["max", "euclid"])
@pytest.mark.parametrize("size", [1, 2])
def test_random_graphs_against_samples(norm, size):
    rng, spacing = np.random.default_rng(1), 5e-3
    for _ in range(12):
        a, b = (
            (np.sort(rng.choice([0.0, 0.3, 0.5, 0.7, 1.0, *rng.random(2)], 5)), 0.3 * rng.standard_normal((5, size)))
            for _ in range(2)
        )
        if a[0][0] == a[0][-1] or b[0][0] == b[0][-1]:
            continue
        found = da.hausdorff_distance(*a, *b, norm)
        assert found == pytest.approx(sampled_distance(a, b, norm, spacing), abs=spacing)
        assert da.hausdorff_distance(*b, *a, norm) == pytest.approx(found, rel=1e-8)


@pytest.mark.parametrize("norm", ["max", "euclid"])
def test_the_farthest_point_may_lie_inside_a_segment(norm):
    """The middle of a line over a roof, seen from its two feet."""
    line, feet = ([-1.0, 1.0], [0.0, 0.0]), ([-1.0, -0.5, 0.0, 0.5, 1.0], [0.0, 0.0, 9.0, 0.0, 0.0])
    roof = da.hausdorff_distance(*line, *feet, norm)
    assert roof == pytest.approx(9.0, rel=1e-9)
    tent = da.hausdorff_distance([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [0.0, 2.0], [0.0, 0.0], norm)
    assert tent == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("offset", [1e-7, 1e-3, 0.1, 10.0])
def test_many_points_and_parallel_graphs(offset):
    """Parallel lines are everywhere equally far apart, so nothing can be left out early."""
    rng = np.random.default_rng(2)
    t, s = (np.sort(np.r_[0.0, 1.0, rng.random(20_000)]) for _ in range(2))
    da.hausdorff_distance([0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0])
    begin = time.perf_counter()
    found = da.hausdorff_distance(t, 0.5 * t, s, 0.5 * s + offset, "euclid")
    assert time.perf_counter() - begin < 30.0
    # At an end of the shorter side the nearest point is an end, straight above.
    assert found == pytest.approx(offset, rel=1e-8)
    assert da.hausdorff_distance(t, 0.0 * t, s, 0.0 * s + offset) == pytest.approx(offset, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [1.0, 2.0, 3.0], SHIFTED), r"got the shapes \(2,\) and \(3,\)"),
        (([0.0], [1.0], SHIFTED), "at least two times"),
        (([0.0, 1.0, 0.5], [1.0, 2.0, 3.0], SHIFTED), "never decrease"),
        (([1.0, 1.0], [1.0, 2.0], SHIFTED), "more than one moment"),
        (([0.0, 1.0], [1.0, np.nan], SHIFTED), "finite times and values"),
        (([0.0, 1.0], [1.0, 2.0], 3.0), "function of t or as a pair"),
        (([0.0, 2.0], [1.0, 2.0], SHIFTED), "cover the times from 0.0 to 2.0, got 0.0 to 1.0"),
        (([0.0, 1.0], [[1.0, 2.0], [2.0, 3.0]], SHIFTED), "got 2 components and 1 in exact"),
        (([0.0, 1.0], [1.0, 2.0], lambda t: [t, t]), "exact.t. with 1 components"),
        (([0.0, 1.0], [1.0, 2.0], lambda t: np.nan), r"exact\(t\) must be finite"),
        (([0.0, 1.0], [1.0, 2.0], SHIFTED, "cubic"), 'interpolation must be "linear" or "constant"'),
    ],
)
@pytest.mark.parametrize("function", [da.l1_error, da.l2_error, da.uniform_error])
def test_bad_input(function, arguments, message):
    with pytest.raises(InputError, match=message):
        function(*arguments)


def test_bad_graphs():
    with pytest.raises(InputError, match='norm must be "max" or "euclid"'):
        da.hausdorff_distance(*STEP, *SHIFTED, "taxi")
    with pytest.raises(InputError, match="1 and 2 components"):
        da.hausdorff_distance(*STEP, [0.0, 1.0], np.ones((2, 2)))
