"""What `optimal_control` is asked, checked: a `Question` of numbers, and of functions with the right shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import count, floats, number, positive, real, shown, takes
from ..errors import InconsistentStart, InputError, MethodDoesNotFit, ModelError
from ..method import EventCapturing, Method
from ..problem import AbstractSystem, inputs_of, prepared, undriven
from ..stepping import check_fit, consistent, independent_rows, layout_of
from ..stepping.consistent import prepare_start
from .discrete_steps import Wishes, points_of
from .step_maps import driven_for
from .transcription import Question

#: A state is on the constraints up to this.
ON_CONSTRAINTS = 1e-6


class Asked(NamedTuple):
    """The arguments of `optimal_control` that describe the plan, as the user gave them."""

    start: Any
    end: Any
    horizon: Any
    steps: Any
    cost: Any
    final: Any
    path: Any
    bounds: Any
    periodic: Any
    points: Any
    t0: Any


def question_of(system: AbstractSystem, method: Method, asked: Asked, n: int | None) -> Question:
    """The question; `n` is the number of coordinates, where a guess tells it."""
    if not isinstance(method, Method):
        raise InputError(f"expected a method such as da.Rattle(), got {shown(method, 80)}.")
    base = undriven(prepared(system))
    _check_treated(base, method)
    t0, steps = number("t0", asked.t0), count("steps", asked.steps)
    start, end = _side("start", asked.start), _side("end", asked.end)
    n = _coordinates(start, end, n)
    layout, inputs = layout_of(base, n), inputs_of(base)
    points = points_of(method) if asked.points is None else _points(asked.points)
    horizon = _horizon(asked.horizon)
    given = _given(start, end, n)
    names = (_names(start), _names(end))
    p_given = np.zeros(n)
    if names[0] == ("q", "v"):
        state = prepare_start(base, given[:n], given[n : 2 * n], None, t0, project=False, redundant="refuse").state
        p_given = np.asarray(state.p)
    elif layout.m and isinstance(names[0], tuple) and "q" in names[0]:
        independent_rows(base, t0, given[:n], "refuse")
    if horizon[0] == horizon[1]:
        _check_on_constraints(base, given, names[1], n, t0 + horizon[0])
    wishes = Wishes(asked.cost, asked.path, asked.final, *names, _periodic(asked.periodic, n))
    path_size = _check_functions(wishes, n, inputs.size)
    lower, upper = _bounds(asked.bounds, n)
    return Question(
        driven_for(base, points), method, layout, inputs, points, wishes, path_size, steps, t0, horizon, given,
        p_given, lower, upper,
    )  # fmt: skip


def _check_treated(base: AbstractSystem, method: Method) -> None:
    if base.provides("gap") or isinstance(method, EventCapturing):
        raise MethodDoesNotFit(
            f"optimal_control treats smooth motion; {type(base).__name__} has contacts. Plan the phases between "
            "contacts one by one, with the contacts that are closed as holonomic constraints."
        )
    check_fit(base, method)


class _Side(NamedTuple):
    """What is asked of one end: a function, or q and v, each an array or None."""

    function: Callable | None
    q: np.ndarray | None
    v: np.ndarray | None


def _side(name: str, value: Any) -> _Side:
    if value is None:
        return _Side(None, None, None)
    if callable(value):
        if not takes(value, 3):
            raise InputError(f"{name} as a function must take (t, q, v), got {shown(value)}.")
        return _Side(value, None, None)
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(
            f"{name} must be a pair (q, v), where None leaves a part free, or a function of (t, q, v) that is zero "
            f"there; got {shown(value)}."
        )
    parts = []
    for part, numbers in zip("qv", value, strict=True):
        found = None if numbers is None else floats(f"{name}: {part}", numbers, finite=True)
        if found is not None and found.ndim != 1:
            raise InputError(f"{name}: {part} must have shape (n,), got {found.shape}.")
        parts.append(found)
    return _Side(None, *parts)


def _names(side: _Side) -> Any:
    if side.function is not None:
        return side.function
    return tuple(name for name, part in (("q", side.q), ("v", side.v)) if part is not None) or None


def _coordinates(start: _Side, end: _Side, n: int | None) -> int:
    sizes = {len(part) for side in (start, end) for part in (side.q, side.v) if part is not None}
    sizes |= {n} if n is not None else set()
    if not sizes:
        raise InputError("optimal_control needs a position at the start or at the end, or a guess=... of the motion.")
    if len(sizes) > 1:
        raise InputError(f"start, end and guess must have the same number of coordinates, got {sorted(sizes)}.")
    return sizes.pop()


def _given(start: _Side, end: _Side, n: int) -> np.ndarray:
    parts = (start.q, start.v, end.q, end.v)
    return np.concatenate([np.zeros(n) if part is None else part for part in parts])


def _points(points: Any) -> tuple[float, ...]:
    found = floats("points", points, finite=True)
    if found.ndim != 1 or not len(found) or len(set(found.tolist())) < len(found):
        raise InputError(f"points must be one or more different numbers, got {shown(points)}.")
    return tuple(found.tolist())


def _horizon(horizon: Any) -> tuple[float, float]:
    if real(horizon) is not None:
        length = positive("horizon", horizon)
        return length, length
    try:
        least, most = (real(part) for part in horizon)
    except (TypeError, ValueError):
        least = most = None
    if least is None or most is None or not 0 < least < most:
        raise InputError(
            "horizon must be the length of the plan, a positive number, or a pair of the least and the greatest "
            f"length, 0 < least < greatest, of which one is found; got {shown(horizon)}."
        )
    return least, most


def _periodic(periodic: Any, n: int) -> tuple[int, ...] | None:
    if periodic is None or periodic is False:
        return None
    if periodic is True:
        return tuple(range(n))
    try:
        found = tuple(count("periodic", k, 0, n - 1) for k in periodic)
    except TypeError:
        found = (-1,)
    if len(set(found)) < len(found) or -1 in found:
        raise InputError(
            "periodic must be True, or the numbers of the coordinates that return (all velocities do), got "
            f"{shown(periodic)}."
        )
    return found


def _bounds(bounds: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Of (q, v)."""
    lower, upper = np.full(2 * n, -np.inf), np.full(2 * n, np.inf)
    if bounds is None:
        return lower, upper
    example = '{"q": (lower, upper), "v": (lower, upper)}'
    if not isinstance(bounds, Mapping) or set(bounds) - {"q", "v"}:
        raise InputError(f"bounds must be such as {example}; those of inputs are declared by the system. "
                         f"Got {shown(bounds)}.")  # fmt: skip
    for name, pair in bounds.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(f"bounds of {name} must be a pair (lower, upper), got {shown(pair)}.")
        place = slice(0, n) if name == "q" else slice(n, 2 * n)
        for side, target, value in (("lower", lower, pair[0]), ("upper", upper, pair[1])):
            found = floats(f"{side} bound of {name}", value)
            if found.shape not in ((), (n,)) or np.any(np.isnan(found)):
                raise InputError(f"the {side} bound of {name} must be a number or have shape ({n},), without NaN; got "
                                 f"{shown(value)}.")  # fmt: skip
            target[place] = found
    if np.any(lower >= upper):
        raise InputError("every lower bound must lie below the upper one; fix a value with start, end or path.")
    return lower, upper


def _check_on_constraints(base: AbstractSystem, given: np.ndarray, names: Any, n: int, t1: float) -> None:
    """A position that is asked for at the end lies on the constraints."""
    if not isinstance(names, tuple) or "q" not in names:
        return
    q, v = given[2 * n : 3 * n], given[3 * n :] if "v" in names else np.zeros(n)
    found = consistent(base, q, v, t1)
    moved = found.moved_v if "v" in names else 0.0
    size = 1.0 + float(np.max(np.abs(q)))
    if found.moved_q > ON_CONSTRAINTS * size or moved > ON_CONSTRAINTS * (1.0 + float(np.max(np.abs(v)))):
        raise InconsistentStart(
            f"{type(base).__name__}: the end violates the constraints: q lies {found.moved_q:.3g} and v {moved:.3g} "
            "away from them. Move it there with da.consistent(...)."
        )


def _check_functions(wishes: Wishes, n: int, inputs: int) -> int:
    """Refuse functions that fail or give the wrong shapes; the number of values of path."""
    t, q, u = (jax.ShapeDtypeStruct(shape, jnp.float64) for shape in ((), (n,), (inputs,)))
    for name, function, arguments in (
        ("cost", wishes.cost, (t, q, q, u)), ("final", wishes.final, (t, q, q)), ("path", wishes.path, (t, q, q, u)),
        ("start", wishes.start, (t, q, q)), ("end", wishes.end, (t, q, q)),
    ):  # fmt: skip
        if function is None or isinstance(function, tuple):
            continue
        takes_what = "(t, q, v, u)" if len(arguments) == 4 else "(t, q, v)"
        if not takes(function, len(arguments)):
            raise InputError(f"{name} must be a function of {takes_what}, got {shown(function)}.")
        try:
            shape = np.shape(jax.eval_shape(lambda *a, f=function: jnp.asarray(f(*a), jnp.float64), *arguments))
        except Exception as error:
            raise ModelError(f"{name}{takes_what} failed: {error}") from error
        if name in ("cost", "final") and shape not in ((), (1,)):
            raise ModelError(f"{name}{takes_what} must return one number, got shape {shape}.")
        if name not in ("cost", "final") and len(shape) > 1:
            raise ModelError(f"{name}{takes_what} must return a number or a vector, got shape {shape}.")
        if name == "path":
            return int(np.prod(shape))
    return 0
