"""What `optimal_control` is asked, checked: a `Question` of numbers, and of functions with the right shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import orth

from ..arguments import count, floats, number, positive, real, shown, takes
from ..errors import InconsistentStart, InputError, MethodDoesNotFit, ModelError
from ..method import EventCapturing, Method
from ..problem import AbstractSystem, Inputs, inputs_of, prepared, undriven
from ..stepping import Layout, check_fit, consistent, independent_rows, layout_of
from ..stepping.consistent import prepare_start
from .discrete_steps import Wishes, points_of
from .linearise import tangent_space
from .step_maps import driven_for

#: A state is on the constraints up to this.
ON_CONSTRAINTS = 1e-6


@dataclass(frozen=True)
class Question:
    """What is asked, with all numbers checked.

    Attributes:
        system: the system driven at the points, if it has inputs.
        given: (q, v) of the start and (q, v) of the end, zeros where they are not given; p_given: p of the start.
        horizon: the least and the greatest length of the plan.
        lower, upper: the bounds of (q, v), (2n,), at all states but a given one at the start.
        shares: the parts of the plan that its steps take, (steps,).
        shoots: whether the unknowns of the steps are found step by step, and are none of the plan's.
    """

    system: AbstractSystem
    method: Method
    layout: Layout
    inputs: Inputs
    points: tuple[float, ...]
    wishes: Wishes
    path_size: int
    steps: int
    t0: float
    horizon: tuple[float, float]
    given: np.ndarray
    p_given: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    shares: np.ndarray
    shoots: bool

    @property
    def begins(self) -> np.ndarray:
        """Where the states lie, from 0 to 1, (steps + 1,)."""
        return np.append(np.cumsum(self.shares) - self.shares, 1.0)

    @property
    def is_equal(self) -> bool:
        """Whether all steps have one size."""
        return bool(np.ptp(self.shares) == 0.0)

    @property
    def is_free(self) -> bool:
        """Whether the length of the plan is found."""
        return self.horizon[0] < self.horizon[1]

    @property
    def has_inequalities(self) -> bool:
        """Whether there are any but those on the length."""
        bounds = (self.lower, self.upper, self.inputs.lower, self.inputs.upper)
        asks = self.path_size > 0 or self.wishes.forces is not None
        return asks or any(np.isfinite(bound).any() for bound in bounds)


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
    forces: Any = None  # these two of a phase, see `Wishes`
    linked: bool = False
    shoots: bool = False


def question_of(system: AbstractSystem, method: Method, asked: Asked, n: int | None) -> Question:
    """The question; `n` is the number of coordinates, where a guess tells it."""
    if not isinstance(method, Method):
        raise InputError(f"expected a method such as da.Rattle(), got {shown(method, 80)}.")
    base = undriven(prepared(system))
    _check_treated(base, method)
    t0, steps = number("t0", asked.t0), count("steps", asked.steps)
    start, end = side_of("start", asked.start), side_of("end", asked.end)
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
    wishes = Wishes(
        asked.cost, asked.path, asked.final, *names, periodic_of(asked.periodic, n), asked.forces, asked.linked
    )
    path_size = _check_functions(wishes, n, inputs.size)
    lower, upper = _bounds(asked.bounds, n)
    return Question(
        driven_for(base, points), method, layout, inputs, points, wishes, path_size, steps, t0, horizon, given,
        p_given, lower, upper, np.full(steps, 1.0 / steps), asked.shoots,
    )  # fmt: skip


def _check_treated(base: AbstractSystem, method: Method) -> None:
    if base.provides("gap") or isinstance(method, EventCapturing):
        raise MethodDoesNotFit(
            f"optimal_control treats smooth motion; {type(base).__name__} has contacts. Say when they are closed: "
            "phases=[da.Phase(steps, horizon, closed=(0,)), ...]."
        )
    check_fit(base, method)


class Side(NamedTuple):
    """What is asked of one end: a function, or q and v, each an array or None."""

    function: Callable | None
    q: np.ndarray | None
    v: np.ndarray | None


def side_of(name: str, value: Any) -> Side:
    """What the user asks of one end."""
    if value is None:
        return Side(None, None, None)
    if callable(value):
        if not takes(value, 3):
            raise InputError(f"{name} as a function must take (t, q, v), got {shown(value)}.")
        return Side(value, None, None)
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
    return Side(None, *parts)


def coordinates_in(asked: Asked, n: int | None) -> int:
    """The number of coordinates that start, end and guess have; `n` is that of the guess, where there is one."""
    return _coordinates(side_of("start", asked.start), side_of("end", asked.end), n)


def _names(side: Side) -> Any:
    if side.function is not None:
        return side.function
    return tuple(name for name, part in (("q", side.q), ("v", side.v)) if part is not None) or None


def _coordinates(start: Side, end: Side, n: int | None) -> int:
    sizes = {len(part) for side in (start, end) for part in (side.q, side.v) if part is not None}
    sizes |= {n} if n is not None else set()
    if not sizes:
        raise InputError("optimal_control needs a position at the start or at the end, or a guess=... of the motion.")
    if len(sizes) > 1:
        raise InputError(f"start, end and guess must have the same number of coordinates, got {sorted(sizes)}.")
    return sizes.pop()


def _given(start: Side, end: Side, n: int) -> np.ndarray:
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


def periodic_of(periodic: Any, n: int) -> tuple[int, ...] | None:
    """The numbers of the coordinates that return; None where none need to."""
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


def manifold(asked: Question, ends: np.ndarray, T: float) -> np.ndarray:
    """The tangent space of the states that the method reaches, at both ends, (4n, ...); at a given start nothing is
    free, and a method that does not keep a constraint leaves its direction free."""
    n, system, kept = asked.layout.n, undriven(asked.system), asked.method.claims.constraints
    first = np.zeros((2 * n, 0))
    if not asked.wishes.starts_in_state:
        first = tangent_space(system, None, asked.t0, ends[:n], ends[n : 2 * n], on_manifold=False)
    last = tangent_space(system, None, asked.t0 + T, ends[2 * n : 3 * n], ends[3 * n :], on_manifold=False)
    if "position" not in kept:
        last = np.eye(2 * n)
    elif "velocity" not in kept:
        velocities = np.concatenate([np.zeros((n, n)), np.eye(n)])
        last = orth(np.concatenate([last, velocities], axis=1))
    found = np.zeros((4 * n, first.shape[1] + last.shape[1]))
    found[: 2 * n, : first.shape[1]], found[2 * n :, first.shape[1] :] = first, last
    return found
