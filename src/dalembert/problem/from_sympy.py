"""`from_sympy`: a system from expressions of SymPy, which become functions of JAX::

m, g, length = sympy.symbols("m g length")
angle = dynamicsymbols("angle")
L = m * length**2 * angle.diff() ** 2 / 2 + m * g * length * sympy.cos(angle)
pendulum = da.from_sympy(L, [angle], parameters={m: 1.0, g: 9.81, length: 1.0})
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from ..arguments import number, shown
from ..errors import InputError
from .system import AbstractSystem, System


class _Symbols(NamedTuple):
    """Time, coordinates and velocities as the arguments of functions, and what they replace in the expressions."""

    t: Any
    q: list[Any]
    v: list[Any]
    replaced: list[tuple[Any, Any]]


def from_sympy(
    lagrangian: Any, q: Sequence[Any], v: Sequence[Any] | None = None, *, holonomic: Any = (), nonholonomic: Any = (),
    force: Any = (), parameters: Mapping[Any, float] | None = None, name: str = "FromSympy",
) -> AbstractSystem:  # fmt: skip
    """A system from expressions of SymPy, which has to be installed; see the module.

    Args:
        lagrangian: L(t, q, v), an expression. Time is the symbol t.
        q: the coordinates: functions of time, as `dynamicsymbols` makes them, or symbols.
        v: the velocities, where the coordinates are symbols; those of functions of time are their derivatives.
        holonomic: expressions g(t, q) that are to be zero.
        nonholonomic: expressions k(t, q, v) that are to be zero.
        force: generalised forces F(t, q, v), one for every coordinate.
        parameters: numbers for all other symbols, by symbol or by name; they become the fields of the system.
        name: the name of its class.
    """
    try:
        import sympy  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InputError("from_sympy needs the package sympy, which is not installed: pip install sympy") from error
    symbols = _symbols(sympy, q, v)
    values = _values(parameters)
    given = {"lagrangian": lagrangian, "holonomic": holonomic, "nonholonomic": nonholonomic, "force": force}
    parts = {part: _expressions(sympy, part, expressions, symbols) for part, expressions in given.items()}
    if len(parts["force"]) not in (0, len(symbols.q)):
        raise InputError(f"from_sympy: force must have one expression for each of the {len(symbols.q)} coordinates, "
                         f"got {len(parts['force'])}.")  # fmt: skip
    if len(parts["lagrangian"]) != 1:
        raise InputError(f"from_sympy: lagrangian must be one expression, got {len(parts['lagrangian'])}.")
    _check_symbols(parts, symbols, values)
    namespace: dict[str, Any] = {"__annotations__": dict.fromkeys(values, float), "names": _names(q)}
    arguments = [symbols.t, *symbols.q, *symbols.v, *(sympy.Symbol(one) for one in values)]
    for part, expressions in parts.items():
        if expressions:
            function = sympy.lambdify(arguments, expressions, "jax", cse=True)
            namespace[part] = _method(part, function, len(symbols.q), tuple(values))
    kind: Any = type(System)
    return kind(name, (System,), namespace)(**values)


def _method(part: str, function: Callable, n: int, parameters: tuple[str, ...]) -> Callable:
    """The function as a method of a system."""

    def evaluate(self, t, q, v):
        entries = [t, *(q[k] for k in range(n)), *(v[k] for k in range(n)), *(getattr(self, one) for one in parameters)]
        return jnp.stack([jnp.asarray(entry, jnp.float64) for entry in function(*entries)])

    if part == "lagrangian":
        return lambda self, t, q, v: evaluate(self, t, q, v)[0]
    if part == "holonomic":
        return lambda self, t, q: evaluate(self, t, q, jnp.zeros(n))
    return evaluate


def _symbols(sympy: Any, q: Any, v: Any) -> _Symbols:
    """Coordinates as they are given, and the symbols that stand for them."""
    q = list(q) if isinstance(q, Iterable) else [q]
    if not q or not all(isinstance(one, sympy.Basic) for one in q):
        raise InputError(f"from_sympy: q must be a sequence of symbols or functions of time of SymPy, got {shown(q)}.")
    t = sympy.Symbol("t")
    moving = [bool(one.args) for one in q]
    if any(moving) != all(moving):
        raise InputError("from_sympy: q must be functions of time, or symbols, not both.")
    if all(moving):
        if v is not None:
            raise InputError("from_sympy: the velocities of functions of time are their derivatives: leave out v.")
        if not all(one.args == (t,) for one in q):
            raise InputError(f"from_sympy: q must be functions of the symbol t, got {shown(q)}.")
        v = [one.diff(t) for one in q]
    elif v is None or len(list(v)) != len(q):
        raise InputError(f"from_sympy: give v, the symbols of the {len(q)} velocities, or q as functions of time.")
    places, speeds = ([sympy.Dummy(f"{letter}{k}") for k in range(len(q))] for letter in "qv")
    # derivatives first: they hold the functions themselves
    return _Symbols(t, places, speeds, [*zip(list(v), speeds, strict=True), *zip(q, places, strict=True)])


def _values(parameters: Mapping[Any, float] | None) -> dict[str, float]:
    values = {str(symbol): number(f"parameter {symbol}", value) for symbol, value in dict(parameters or {}).items()}
    for one in values:
        if not one.isidentifier() or keyword.iskeyword(one) or hasattr(System, one):
            raise InputError(f"from_sympy: a parameter cannot be called {one!r}; give the symbol another name.")
    return values


def _expressions(sympy: Any, part: str, given: Any, symbols: _Symbols) -> list[Any]:
    """One expression, a sequence of them or a matrix, in the arguments of the functions."""
    listed = list(given) if isinstance(given, Iterable) else [given]
    try:
        found = [sympy.sympify(one).subs(symbols.replaced) for one in listed]
    except (sympy.SympifyError, TypeError, AttributeError) as error:
        raise InputError(f"from_sympy: {part} must be made of expressions of SymPy, got {shown(given)}.") from error
    for one in found:
        if left := one.atoms(sympy.Derivative) | one.atoms(sympy.core.function.AppliedUndef):
            raise InputError(
                f"from_sympy: {part} contains {sorted(map(str, left))[0]}, which is no coordinate and no velocity."
            )
    return found


def _check_symbols(parts: dict[str, list[Any]], symbols: _Symbols, values: dict[str, float]) -> None:
    """Every symbol is known, and constraints g depend on positions only."""
    known = {symbols.t, *symbols.q, *symbols.v}
    for part, expressions in parts.items():
        free = set().union(*(one.free_symbols for one in expressions))
        missing = sorted(str(symbol) for symbol in free - known if str(symbol) not in values)
        if missing:
            raise InputError(
                f"from_sympy: {part} contains {', '.join(missing)}; give numbers, such as "
                f"parameters={{{missing[0]!r}: 1.0}}."
            )
        if part == "holonomic" and free & set(symbols.v):
            raise InputError("from_sympy: holonomic contains velocities; such constraints are nonholonomic=....")


def _names(q: Iterable[Any]) -> tuple[str, ...]:
    """What tables call the coordinates: angle of angle(t)."""
    return tuple(str(getattr(one, "func", one)) if getattr(one, "args", ()) else str(one) for one in q)
