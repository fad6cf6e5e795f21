"""Inputs of a system: what may be chosen while it moves, by name, with sizes and bounds.

A system declares them in a class attribute, and its force takes them, one after the other in one vector u::

    class Cart(da.System):
        inputs = {"push": da.Input(lower=-20.0, upper=20.0)}

        def force(self, t, q, v, u):
            return jnp.array([u[0], 0.0, 0.0])

Without more said, u = 0. `driven(system, points)` is the same system with u as parameters, which may change from step
to step while the compiled equations stay: within the step from t0 to t0 + h the input is the polynomial through
`input_values` at t0 + c_i h, where c_i are the `points`, and one point means a constant.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..arguments import count, floats, shown
from ..errors import InputError, ModelError

#: An input has at most so many numbers: more are a mistake, and would not fit into memory.
MOST_NUMBERS = 1_000_000
#: What the functions of a driven system read, beside the fields of the system itself.
VALUES, SPAN, LAW = "input_values", "input_span", "input_law"


@dataclass(frozen=True)
class Input:
    """An input of a system: how many numbers it has, and between which bounds each of them may lie."""

    size: int = 1
    lower: Any = -np.inf
    upper: Any = np.inf

    def __post_init__(self) -> None:
        count("Input: size", self.size, most=MOST_NUMBERS)
        lower, upper = self.bounds
        if np.any(np.isnan(lower)) or np.any(np.isnan(upper)) or np.any(lower > upper):
            raise InputError(f"Input: lower must not exceed upper, got {shown(self.lower)} and {shown(self.upper)}.")

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of every number."""
        found = []
        for name, value in (("lower", self.lower), ("upper", self.upper)):
            array = floats(f"Input: {name}", value)
            if array.shape not in ((), (self.size,)):
                raise InputError(f"Input: {name} must be a number or have shape ({self.size},), got {array.shape}.")
            found.append(np.broadcast_to(array, (self.size,)))
        return found[0], found[1]


class Inputs:
    """All inputs of a system, in the order in which they stand in u."""

    def __init__(self, declared: Mapping[str, Input]) -> None:
        self.declared = dict(declared)
        ends = np.cumsum([0, *(one.size for one in self.declared.values())]).tolist()
        self.size = ends[-1]
        self.places = {name: slice(a, b) for name, a, b in zip(self.declared, ends[:-1], ends[1:], strict=True)}
        bounds = [one.bounds for one in self.declared.values()]
        self.lower = np.concatenate([lower for lower, _ in bounds] or [np.zeros(0)])
        self.upper = np.concatenate([upper for _, upper in bounds] or [np.zeros(0)])

    @property
    def names(self) -> list[str]:
        """One name for every number of u."""
        return [
            name if one.size == 1 else f"{name}[{k}]" for name, one in self.declared.items() for k in range(one.size)
        ]

    def check_bounds(self, u: np.ndarray, where: str = "") -> None:
        """Refuse values outside the bounds, (..., size); the first that is outside is named."""
        rows = np.reshape(u, (-1, self.size))
        outside = ~((rows >= self.lower) & (rows <= self.upper) & np.isfinite(rows))
        if outside.any():
            row, k = np.argwhere(outside)[0]
            place = where or (f" in row {row}" if len(rows) > 1 else "")
            what = f"the input {self.names[k]} is {rows[row, k]:.6g}{place}, expected"
            if not np.isfinite(rows[row, k]):
                raise InputError(f"{what} a finite number.")
            raise InputError(
                f"{what} a number between {self.lower[k]:g} and {self.upper[k]:g}. Clip it with np.clip, or change the "
                "bounds of the input."
            )


def declared_inputs(kind: type, given: Any) -> dict[str, Input]:
    """What a class declares: {"name": da.Input(...)}, or a sequence of names, each of one number without bounds."""
    example = '{"push": da.Input(lower=-20.0, upper=20.0)} or ("push", "turn")'
    if isinstance(given, Mapping):
        named = dict(given)
    elif isinstance(given, tuple | list):
        named = {name: Input() for name in given}
    else:
        raise ModelError(f"{kind.__name__}: inputs must be such as {example}, got {shown(given)}.")
    for name, value in named.items():
        if not isinstance(name, str) or not name or not isinstance(value, Input):
            raise ModelError(f"{kind.__name__}: inputs must be such as {example}, got {shown(name)}: {shown(value)}.")
    if not named:
        raise ModelError(f"{kind.__name__}: inputs must name at least one input, such as {example}.")
    return named


def check_controlled(kind: type, force: Callable) -> None:
    """Refuse a force that does not take u although inputs are declared."""
    takes = inspect.signature(force).parameters.values()
    several = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in takes)
    places = [one for one in takes if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    if not several and len(places) != 5:
        raise ModelError(
            f"{kind.__name__} declares inputs: its force must take (self, t, q, v, u), got "
            f"({', '.join(one.name for one in takes)})."
        )


def inputs_of(system: Any) -> Inputs:
    """The inputs of a system; none where it declares none."""
    return Inputs(getattr(type(system), "declared_inputs", {}))


def require_inputs(system: Any, what: str) -> Inputs:
    """The inputs of a system, which `what` needs."""
    found = inputs_of(system)
    if not found.size:
        raise InputError(
            f"{what} needs a system with inputs, {type(system).__name__} has none. Declare them, such as "
            'inputs = {"push": da.Input(lower=-1.0, upper=1.0)}, and let force take (t, q, v, u).'
        )
    return found


def driven(system: Any, points: tuple[float, ...] = (0.0,), values: Any = None) -> Any:
    """The system with u as parameters: the polynomial through `values`, (len(points), size), in every step."""
    size = require_inputs(system, "an input that changes from step to step").size
    found = _with_fields(system, _driven_kind(type(system), tuple(float(c) for c in points)))
    start = np.zeros((len(points), size)) if values is None else values
    return _set(found, {VALUES: start, SPAN: np.array([0.0, 1.0])})


def driven_by_law(system: Any, law: Callable) -> Any:
    """The system with u = law(t), compiled like the rest of its equations."""
    require_inputs(system, "an input as a function of time")
    return _set(_with_fields(system, _law_kind(type(system))), {LAW: law})


def undriven(system: Any) -> Any:
    """The system as the user gave it, whose inputs are zero."""
    base = getattr(type(system), "driven_base", None)
    if base is None:
        return system
    found = object.__new__(base)
    for name, value in vars(system).items():
        if name not in (VALUES, SPAN, LAW):
            object.__setattr__(found, name, value)
    return found


def lagrange_weights(points: tuple[float, ...], theta) -> Any:
    """The weights of values at the points in the polynomial through them, at theta; by numpy where theta is known to
    it, so that nothing is compiled for a few numbers."""
    numbers: Any = np if isinstance(theta, np.ndarray) else jnp
    weights = []
    for i, c in enumerate(points):
        weight = numbers.ones_like(theta)
        for j, other in enumerate(points):
            if j != i:
                weight = weight * (theta - other) / (c - other)
        weights.append(weight)
    return numbers.stack(weights)


@functools.cache
def _driven_kind(kind: type, points: tuple[float, ...]) -> type:
    def force(self, t, q, v):
        if len(points) == 1:
            return self.controlled_force(t, q, v, self.input_values[0])
        begin, length = self.input_span[0], self.input_span[1]
        return self.controlled_force(t, q, v, lagrange_weights(points, (t - begin) / length) @ self.input_values)

    return _derived(kind, force, (VALUES, SPAN))


@functools.cache
def _law_kind(kind: type) -> type:
    size = Inputs(getattr(kind, "declared_inputs", {})).size

    def force(self, t, q, v):
        u = jnp.asarray(self.input_law(t), jnp.float64)
        if u.shape not in ((size,), () if size == 1 else (size,)):
            raise ModelError(f"the control must return {size} numbers, the inputs of {kind.__name__}, got {u.shape}.")
        return self.controlled_force(t, q, v, jnp.reshape(u, (size,)))

    return _derived(kind, force, (LAW,))


def _derived(kind: type, force: Callable, fields: tuple[str, ...]) -> type:
    annotations: dict[str, Any] = dict.fromkeys(fields, Any)
    more: dict[str, Any] = dict.fromkeys(fields)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__annotations__": annotations}
    made: Any = type(kind)(kind.__name__, (kind,), {**names, "force": force, "driven_base": kind, **more})
    return made


def _with_fields(system: Any, kind: type) -> Any:
    """An instance of a derived class with the fields of a system."""
    return _set(object.__new__(kind), vars(undriven(system)))


def _set(owner: Any, values: Mapping[str, Any]) -> Any:
    """An instance that was just made, with these fields."""
    for name, value in values.items():
        object.__setattr__(owner, name, value)
    return owner
