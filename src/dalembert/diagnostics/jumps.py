"""How far two motions with jumps are from each other.

A function is given by points (t_i, x_i), 0 <= i < N, with x of shape (N,) or (N, n) and t never decreasing. Between
the points it is linear, or, with "constant", x(t) = x_i for t_i <= t < t_{i+1}. A time that is repeated is a jump;
there the function takes the last value (it is continuous from the right). |x| is the Euclidean norm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arguments import choice, floats, takes
from ..errors import InputError

INTERPOLATIONS = ("linear", "constant")
NORMS = ("max", "euclid")
#: Gauss points in an interval, where the reference is a function.
GAUSS_POINTS = 5
#: |x| is integrated by Gauss where x changes by less than this part of itself: there the closed form cancels.
SMALL_CHANGE = 1e-2
#: Relative accuracy of the distance between two graphs.
GRAPH_ACCURACY = 1e-9
#: Norms are sums of squares: beyond this they overflow.
LARGEST_VALUE = 1e150


class _Pieces(NamedTuple):
    """The difference at both ends and at the Gauss points of the intervals between all times of both functions."""

    lengths: np.ndarray
    first: np.ndarray
    last: np.ndarray
    inner: np.ndarray | None
    at_end: np.ndarray


def l1_error(t, x, exact, interpolation="linear", exact_interpolation="linear", jump_times=()) -> float:
    """Integral of |x(t) - exact(t)| dt over the times t.

    `exact` is a pair (t, x) with an interpolation of its own, or a function of t that returns x. For a pair the
    integral is exact up to roundoff; for a function it is taken by Gauss's formula with 5 points between the times
    t, to which `jump_times`, where the function jumps or bends, are added.
    """
    pieces = _difference(t, x, exact, interpolation, exact_interpolation, jump_times)
    means = _mean_norms(pieces.first, pieces.last) if pieces.inner is None else _gauss(_norms(pieces.inner))
    return float(pieces.lengths @ means)


def l2_error(t, x, exact, interpolation="linear", exact_interpolation="linear", jump_times=()) -> float:
    """Root of the integral of |x(t) - exact(t)|^2 dt over the times t; arguments and accuracy as in `l1_error`."""
    pieces = _difference(t, x, exact, interpolation, exact_interpolation, jump_times)
    if pieces.inner is None:
        a, b = pieces.first, pieces.last
        means = np.sum(a * a + a * b + b * b, axis=1) / 3.0
    else:
        means = _gauss(_norms(pieces.inner) ** 2)
    return float(np.sqrt(pieces.lengths @ means))


def uniform_error(t, x, exact, interpolation="linear", exact_interpolation="linear", jump_times=()) -> float:
    """Supremum of |x(t) - exact(t)| over the times t, limits from both sides at jumps included.

    Exact for a pair; for a function the supremum over the times t, `jump_times` and the Gauss points between them.
    Two functions with one jump each at slightly different times differ by the whole jump; for these use
    `hausdorff_distance`. Arguments as in `l1_error`.
    """
    pieces = _difference(t, x, exact, interpolation, exact_interpolation, jump_times)
    found = [pieces.first, pieces.last, pieces.at_end[None, :]]
    if pieces.inner is not None:
        found.append(pieces.inner.reshape(-1, pieces.inner.shape[-1]))
    return float(max(np.max(_norms(values), initial=0.0) for values in found))


def hausdorff_distance(t_a, x_a, t_b, x_b, norm="max", interpolation_a="linear", interpolation_b="linear") -> float:
    """Hausdorff distance of the filled-in graphs of two functions of bounded variation (Moreau).

    The filled-in graph holds the points (t, x(t)) and, at each jump, the segment between both limits. The distance
    of two sets is the largest distance of a point of one from the other set, where the points (t, x), (t', x') have
    the distance max(|t - t'|, |x - x'|) for the norm "max" and sqrt(|t - t'|^2 + |x - x'|^2) for "euclid". Unlike
    the uniform norm it is small for jumps at slightly different times. The relative accuracy is 1e-9; it takes
    about a second for 20,000 points each.
    """
    from .filled_graphs import farthest  # here, as numba takes long to import

    choice("norm", norm, NORMS)
    a = _filled(*_checked("a", t_a, x_a, interpolation_a), interpolation_a)
    b = _filled(*_checked("b", t_b, x_b, interpolation_b), interpolation_b)
    if a.shape[1] != b.shape[1]:
        raise InputError(
            f"hausdorff_distance expects values of one size, got {a.shape[1] - 1} and {b.shape[1] - 1} components."
        )
    euclidean = norm == "euclid"
    return float(max(farthest(a, b, euclidean, GRAPH_ACCURACY), farthest(b, a, euclidean, GRAPH_ACCURACY)))


def _difference(t, x, exact, interpolation: str, exact_interpolation: str, jump_times) -> _Pieces:
    """x - exact between all times of both; the Gauss points are needed for a function only."""
    t, x = _checked("x", t, x, interpolation)
    if takes(exact, 1):
        extra = floats("jump_times", jump_times, finite=True).ravel()
        grid = np.unique(np.concatenate([t, extra[(extra > t[0]) & (extra < t[-1])]]))
        return _difference_from_function(t, x, interpolation, grid, exact)
    try:
        exact_t, exact_x = exact
    except (TypeError, ValueError):
        raise InputError("an error norm expects exact as a function of t or as a pair (t, x).") from None
    exact_t, exact_x = _checked("exact", exact_t, exact_x, exact_interpolation)
    if exact_x.shape[1] != x.shape[1]:
        raise InputError(
            f"an error norm expects values of one size, got {x.shape[1]} components and {exact_x.shape[1]} in exact."
        )
    slack = 1e-9 * (t[-1] - t[0])
    if exact_t[0] > t[0] + slack or exact_t[-1] < t[-1] - slack:
        raise InputError(
            f"an error norm expects exact to cover the times from {t[0]} to {t[-1]}, got {exact_t[0]} to {exact_t[-1]}."
        )
    begin, end = max(t[0], exact_t[0]), min(t[-1], exact_t[-1])
    grid = np.unique(np.concatenate([t, exact_t]))
    grid = grid[(grid >= begin) & (grid <= end)]
    first, last = _ends(t, x, interpolation, grid)
    exact_first, exact_last = _ends(exact_t, exact_x, exact_interpolation, grid)
    at_end = _value(t, x, interpolation, end) - _value(exact_t, exact_x, exact_interpolation, end)
    return _Pieces(np.diff(grid), first - exact_first, last - exact_last, None, at_end)


def _difference_from_function(t, x, interpolation: str, grid: np.ndarray, exact: Callable) -> _Pieces:
    lengths = np.diff(grid)
    first, last = _ends(t, x, interpolation, grid)
    at_grid = _values(exact, grid, x.shape[1])
    before = _values(exact, np.nextafter(grid[1:], -np.inf), x.shape[1])
    positions = 0.5 * (1.0 + np.polynomial.legendre.leggauss(GAUSS_POINTS)[0])
    times = grid[:-1, None] + lengths[:, None] * positions
    own = first[:, None, :] + positions[None, :, None] * (last - first)[:, None, :]
    inner = own - _values(exact, times.ravel(), x.shape[1]).reshape(own.shape)
    return _Pieces(lengths, first - at_grid[:-1], last - before, inner, x[-1] - at_grid[-1])


def _values(exact: Callable, times: np.ndarray, size: int) -> np.ndarray:
    found = [floats("exact(t)", exact(float(time)), finite=True).ravel() for time in times]
    wrong = next((values for values in found if len(values) != size), None)
    if wrong is not None:
        raise InputError(f"an error norm expects exact(t) with {size} components, got the shape {wrong.shape}.")
    return np.array(found)


def _ends(t: np.ndarray, x: np.ndarray, interpolation: str, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Limits at the left and right ends of the intervals of the grid, none of which holds a time t inside."""
    index = np.minimum(np.searchsorted(t, grid[:-1], side="right") - 1, len(t) - 2)
    if interpolation == "constant":
        return x[index], x[index]
    step = (t[index + 1] - t[index])[:, None]
    at_left, at_right = ((times - t[index])[:, None] / step for times in (grid[:-1], grid[1:]))
    return (1.0 - at_left) * x[index] + at_left * x[index + 1], (1.0 - at_right) * x[index] + at_right * x[index + 1]


def _value(t: np.ndarray, x: np.ndarray, interpolation: str, time: float) -> np.ndarray:
    index = int(np.searchsorted(t, time, side="right")) - 1
    if interpolation == "constant" or index == len(t) - 1:
        return x[index]
    part = (time - t[index]) / (t[index + 1] - t[index])
    return (1.0 - part) * x[index] + part * x[index + 1]


def _norms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(values**2, axis=-1))


def _gauss(values: np.ndarray) -> np.ndarray:
    """Means over intervals from the values at their Gauss points."""
    return values @ (0.5 * np.polynomial.legendre.leggauss(values.shape[1])[1])


def _mean_norms(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Integral of |(1 - s) first + s last| ds over 0 <= s <= 1.

    With the part p of the vector along last - first, of length L, and the part of length h across it, this is
    the integral of sqrt(p^2 + h^2) dp / L.
    """
    positions = 0.5 * (1.0 + np.polynomial.legendre.leggauss(GAUSS_POINTS)[0])[None, :, None]
    means = _gauss(_norms((1.0 - positions) * first[:, None, :] + positions * last[:, None, :]))
    L = _norms(last - first)
    turning = SMALL_CHANGE * np.maximum(_norms(first), _norms(last)) < L
    first, last, L = first[turning], last[turning], L[turning]
    along = (last - first) / L[:, None]
    p, q = np.sum(first * along, axis=1), np.sum(last * along, axis=1)
    h = _norms(first - p[:, None] * along)
    h = np.maximum(h, np.finfo(float).tiny)

    def antiderivative(p):
        return 0.5 * (p * np.hypot(p, h) + h**2 * np.arcsinh(p / h))

    means[turning] = (antiderivative(q) - antiderivative(p)) / L
    return means


def _filled(t: np.ndarray, x: np.ndarray, interpolation: str) -> np.ndarray:
    """The points (t, x) of the graph as a connected line; steps get their horizontal and vertical parts."""
    if interpolation == "constant":
        t, x = np.concatenate([t[:1], np.repeat(t[1:], 2)]), np.repeat(x, 2, axis=0)[:-1]
    return np.concatenate([t[:, None], x], axis=1)


def _checked(name: str, t, x, interpolation: Any) -> tuple[np.ndarray, np.ndarray]:
    t, x = np.ascontiguousarray(floats("t", t)), np.ascontiguousarray(floats(name, x))
    choice("interpolation", interpolation, INTERPOLATIONS)
    if t.ndim != 1 or len(t) < 2 or x.ndim not in (1, 2) or len(x) != len(t):
        raise InputError(
            f"expected at least two times t of shape (N,) and values {name} of shape (N,) or (N, n), "
            f"got the shapes {t.shape} and {x.shape}."
        )
    if not (np.all(np.isfinite(t)) and np.all(np.isfinite(x))):
        raise InputError(f"expected finite times and values of {name}, got NaN or infinity.")
    if max(np.max(np.abs(t)), np.max(np.abs(x), initial=0.0)) > LARGEST_VALUE:
        raise InputError(
            f"expected times and values of {name} up to {LARGEST_VALUE:g} in size, whose squares are finite."
        )
    if np.any(np.diff(t) < 0) or t[0] == t[-1]:
        raise InputError(f"expected times of {name} that never decrease and span more than one moment.")
    return t, x.reshape(len(t), -1)
