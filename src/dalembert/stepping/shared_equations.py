"""Systems that differ only in parameter values share their traced equations: a family is traced once.

`equation(system, "constraint")` is a function of numbers with a sparse Jacobian by its first argument; the traced
program behind it is kept for the family, so that a second `simulate` costs no tracing at all. Where it cannot be
followed what the functions of a system read, the system is recognised by its traced equations.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import re
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree

from ..arguments import check_double
from ..engine import Function, RowFunction, RowSolver
from ..errors import RetracedWarning
from ..formulation import Acceleration, Mechanics, mechanics_of
from ..method import Method
from ..problem import (
    AbstractSystem,
    Dependencies,
    DifferentialAlgebraicInequality,
    dependencies,
    is_parameter,
    known_in_this_call,
    reads_of_system,
)


def flat_parameters(system: AbstractSystem):
    """The parameters of a system as one vector of floats."""
    leaves = [leaf for leaf in jax.tree.leaves(system) if is_parameter(leaf)]
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        return jnp.concatenate([jnp.ravel(leaf).astype(jnp.float64) for leaf in leaves])
    return np.concatenate([np.ravel(np.asarray(leaf, dtype=np.float64)) for leaf in leaves] or [np.zeros(0)])


def parameter_places(system: AbstractSystem) -> dict[str, slice]:
    """Where each parameter, by the name of its field, lies in that vector; of parts of a field, from field.part on."""
    places, begin = {}, 0
    for path, leaf in jax.tree_util.tree_leaves_with_path(system):
        if is_parameter(leaf):
            places[jax.tree_util.keystr(path).lstrip(".")] = slice(begin, begin + np.size(leaf))
            begin += np.size(leaf)
    return places


class Family:
    """All systems with the same equations up to the values of parameters: a dictionary key, which is what their
    functions read, and a way back from a parameter vector to a system."""

    reads: Dependencies

    def __new__(cls, system: AbstractSystem) -> Family:
        """The family itself, where it is known: what is traced later is then traced with the system that was just
        looked at, and not with an equal one that may have changed since."""
        check_double()
        reads = reads_of_system(system)
        family = _families.get(reads) if reads.unclear is None else None
        if family is None:
            family = object.__new__(cls)
            family.reads = reads
            if reads.unclear is None:
                _families[reads] = family
            else:
                _warn_unclear(type(system), reads.unclear)
        return family

    def __init__(self, system: AbstractSystem) -> None:
        leaves, self._definition = jax.tree.flatten(system)
        self._fixed = [None if is_parameter(leaf) else leaf for leaf in leaves]
        self._shapes = [np.shape(leaf) if is_parameter(leaf) else None for leaf in leaves]
        self.size = sum(math.prod(shape) for shape in self._shapes if shape is not None)

    def with_numbers(self, parameters: np.ndarray) -> AbstractSystem:
        """The member with these parameters, of which JAX need not know."""
        return self.at(parameters, np)

    def at(self, parameters, of: Any = jnp) -> AbstractSystem:
        """The member with these parameters, arrays `of` JAX or numpy."""
        leaves, used = [], 0
        for fixed, shape in zip(self._fixed, self._shapes, strict=True):
            if shape is None:
                leaves.append(fixed)
                continue
            size = math.prod(shape)
            leaves.append(of.reshape(parameters[used : used + size], shape))
            used += size
        return jax.tree.unflatten(self._definition, leaves)

    @property
    def known(self) -> bool:
        """Whether the same equations can be recognised when they come again."""
        return self.reads.unclear is None


_families: weakref.WeakValueDictionary[Dependencies, Family] = weakref.WeakValueDictionary()
_warned: weakref.WeakSet[type] = weakref.WeakSet()


def _warn_unclear(kind: type, reason: str) -> None:
    """Say once for a class why its equations cannot be recognised."""
    if kind not in _warned:
        _warned.add(kind)
        warnings.warn(
            f"{kind.__name__} reads {reason}: whether its equations are still the same cannot be told, so they are "
            "traced anew at every call, which takes some tenths of a second. Give what it reads as a field, or compute "
            "it outside its functions.",
            RetracedWarning,
            stacklevel=2,
        )


class _Known:
    """An argument by what it reads, as it is handed to a function that is remembered."""

    def __init__(self, value: Method) -> None:
        self.value, self.reads = value, dependencies(value)

    def __hash__(self) -> int:
        return hash(self.reads)

    def __eq__(self, other) -> bool:
        return isinstance(other, _Known) and self.reads == other.reads


def for_family(maxsize: int = 512):
    """Remember the result of a function whose first argument is a family, if the family can be recognised. Methods
    among the other arguments count like systems by what they read: they may be a user's."""

    def decorate(function):
        @functools.lru_cache(maxsize=maxsize)
        def cached(family: Family, *arguments):
            return function(family, *(a.value if isinstance(a, _Known) else a for a in arguments))

        @functools.wraps(function)
        def call(family: Family, *arguments):
            if not family.known:
                return function(family, *arguments)
            return cached(family, *(_Known(a) if isinstance(a, Method) else a for a in arguments))

        return call

    return decorate


# -- the equations of starting values and of observation, by name ----------------------------------------------


def _position(m: Mechanics, x, t, q0, v, p):
    n = q0.shape[0]
    q, pi, mu = x[:n], x[n : 2 * n], x[2 * n :]
    return jnp.concatenate(
        [m.mass_residual(q - q0, pi, t, q0, v, p), pi + m.constraint_force(t, q, mu), m.constraint(t, q)]
    )


def _position_with_gaps(m: Mechanics, x, t, q0, v, p, active):
    n, contacts = q0.shape[0], active.shape[0]
    q, pi, mu, tau = x[:n], x[n : 2 * n], x[2 * n : x.shape[0] - contacts], x[x.shape[0] - contacts :]
    gap, pull = jax.vjp(lambda q: m.contact.gap(t, q), q)
    balance = pi + m.constraint_force(t, q, mu) - pull(tau)[0]
    moved = m.mass_residual(q - q0, pi, t, q0, v, p)
    return jnp.concatenate([moved, balance, m.constraint(t, q), jnp.where(active > 0.5, gap, tau)])


def _velocity(m: Mechanics, x, t, q, p0):
    n, rows = q.shape[0], m.constraint(t, q).shape[0]
    v, p, nu, kappa = x[:n], x[n : 2 * n], x[2 * n : 2 * n + rows], x[2 * n + rows :]
    impulses = m.constraint_force(t, q, nu) + m.nonholonomic.force(t, q, v, kappa)
    return jnp.concatenate(
        [m.legendre(t, q, v, p), p - p0 + impulses, m.hidden(t, q, v), m.velocity_constraint(t, q, v)]
    )


def _acceleration(m: Mechanics, x, t, q, v, p, ideal: bool = False):
    n, rows = q.shape[0], m.constraint(t, q).shape[0]
    unknown = Acceleration(x[:n], x[n : 2 * n], x[2 * n : 2 * n + rows], x[2 * n + rows :])
    parts = m.acceleration_residual(unknown, t, q, v, p, ideal=ideal)
    order = ("velocity", "momentum", "acceleration constraint", "nonholonomic acceleration")
    return jnp.concatenate([parts[name] for name in order])


def _velocity_defect(m: Mechanics, t, q, v):
    return jnp.max(jnp.abs(jnp.concatenate([m.hidden(t, q, v), m.velocity_constraint(t, q, v)])), initial=0.0)


def _velocity_gradients(m: Mechanics, t, q, v):
    """The gradients of all constraints on the velocity, one a row."""
    parts = functools.partial(m.hidden, t, q), functools.partial(m.velocity_constraint, t, q)
    return jnp.concatenate([jax.jacfwd(part)(v) for part in parts])


EQUATIONS: dict[str, Callable] = {
    "legendre by p": lambda m, p, t, q, v: m.legendre(t, q, v, p),
    "legendre by v": lambda m, v, t, q, p: m.legendre(t, q, v, p),
    "constraint": lambda m, q, t: m.constraint(t, q),
    "hidden": lambda m, v, t, q: m.hidden(t, q, v),
    "nonholonomic": lambda m, v, t, q: m.velocity_constraint(t, q, v),
    "position": _position,
    "position with gaps": _position_with_gaps,
    "velocity": _velocity,
    "acceleration": _acceleration,
    "ideal acceleration": functools.partial(_acceleration, ideal=True),
}

OBSERVABLES: dict[str, Callable] = {
    "energy": lambda m, t, q, v, p: m.energy(t, q, v, p)[None],
    "constraint": lambda m, t, q, v, p: jnp.max(jnp.abs(m.constraint(t, q)), initial=0.0)[None],
    "hidden": lambda m, t, q, v, p: _velocity_defect(m, t, q, v)[None],
    "all constraints": lambda m, t, q, v, p: m.constraint(t, q),
    "all hidden": lambda m, t, q, v, p: m.hidden(t, q, v),
    "all nonholonomic": lambda m, t, q, v, p: m.velocity_constraint(t, q, v),
    "gradients": lambda m, t, q, v, p: jnp.ravel(jax.jacfwd(lambda q: m.constraint(t, q))(q)),
    "velocity gradients": lambda m, t, q, v, p: jnp.ravel(_velocity_gradients(m, t, q, v)),
    "gap": lambda m, t, q, v, p: m.contact.gap(t, q),
    "approach": lambda m, t, q, v, p: m.contact.velocity(t, q, v)[:, 0],
    "normals": lambda m, t, q, v, p: jnp.ravel(jax.jacfwd(lambda q: m.contact.gap(t, q))(q)),
    "steepness": lambda m, t, q, v, p: jnp.sqrt(jnp.sum(jax.jacfwd(lambda q: m.contact.gap(t, q))(q) ** 2, axis=1)),
    "invariants": lambda m, t, q, v, p: ravel_pytree(m.system.invariants(t, q, p))[0],
}


def equation(
    system: AbstractSystem, name: str, rows: tuple[int, ...] | None = None, parameters=None
) -> Callable:  # fmt: skip
    """One of `EQUATIONS` at the parameters of this system, or at others: (x, ...) -> value, sparse Jacobian by x."""
    function = _equation(Family(system), name, rows)
    parameters = flat_parameters(system) if parameters is None else parameters
    return lambda *arguments: function(*arguments, parameters)


@for_family()
def _equation(family: Family, name: str, rows) -> Function:
    def flat(*arguments):
        return EQUATIONS[name](mechanics_of(family.at(arguments[-1]), rows), *arguments[:-1])

    return Function(flat)


def equation_rows(system: AbstractSystem, name: str, *arguments, parameters) -> np.ndarray:
    """One of `EQUATIONS` for many states at once, each with its own parameters."""
    return _equation_rows(Family(system), name)(*arguments, parameters)


@for_family()
def _equation_rows(family: Family, name: str) -> RowFunction:
    return RowFunction(lambda *a: EQUATIONS[name](mechanics_of(family.at(a[-1])), *a[:-1]))


def traced_equation(system: AbstractSystem, name: str) -> Callable:
    """One of `EQUATIONS` as a JAX function."""
    return functools.partial(EQUATIONS[name], mechanics_of(system))


def observe(system: AbstractSystem, name: str, t, q, v, p, parameters=None) -> np.ndarray:
    """One of `OBSERVABLES` for every row of a run; `parameters` may give each row its own."""
    return _observable(Family(system), name)(t, q, v, p, _parameter_rows(system, parameters, len(t)))


def _parameter_rows(system: AbstractSystem, parameters, count: int) -> np.ndarray:
    vector = np.asarray(flat_parameters(system)) if parameters is None else parameters
    return np.broadcast_to(vector, (count, vector.shape[-1]))


@for_family()
def _observable(family: Family, name: str) -> RowFunction:
    def flat(t, q, v, p, parameters):
        return OBSERVABLES[name](mechanics_of(family.at(parameters)), t, q, v, p)

    return RowFunction(flat)


def facts_at(system: AbstractSystem, method: Method, rows, t: float, q, v, p) -> dict[str, np.ndarray]:
    """The `facts` of a method about a system at one state."""
    shapes, evaluate = _facts(Family(system), method, rows, len(q))
    numbers = evaluate(*(np.asarray(part)[None] for part in (t, q, v, p, flat_parameters(system))))[0]
    ends = itertools.pairwise(np.cumsum([0, *(math.prod(shape) for shape in shapes.values())]).tolist())
    return {name: numbers[a:b].reshape(shape) for (a, b), (name, shape) in zip(ends, shapes.items(), strict=True)}


@for_family()
def _facts(family: Family, method: Method, rows, n: int) -> tuple[dict[str, tuple[int, ...]], RowFunction]:
    def facts(t, q, v, p, parameters):
        return method.facts(mechanics_of(family.at(parameters), rows), t, q, v, p)

    def flat(*arguments):
        found = facts(*arguments)
        return jnp.concatenate([jnp.ravel(found[name]) for name in sorted(found)] or [jnp.zeros(0)])

    scalar, vector, all_parameters = (jax.ShapeDtypeStruct(s, jnp.float64) for s in ((), (n,), (family.size,)))
    shapes = jax.eval_shape(facts, scalar, vector, vector, vector, all_parameters)
    return {name: shapes[name].shape for name in sorted(shapes)}, RowFunction(flat)


def multipliers(system: AbstractSystem, rows, t, q, v, p, parameters=None) -> np.ndarray:
    """lam and psi, side by side, of the continuous equations for every row of a run."""
    return accelerations(system, rows, t, q, v, p, parameters)[:, 2 * q.shape[1] :]


def accelerations(system: AbstractSystem, rows, t, q, v, p, parameters=None) -> np.ndarray:
    """v', p', lam and psi, side by side, of the continuous equations for every row of a run."""
    family, vectors = Family(system), _parameter_rows(system, parameters, len(t))
    x = _accelerations(family, rows, True)(np.zeros((len(t), 0)), t, q, v, p, vectors)
    if system.provides("reaction"):  # nonlinear in the multipliers: Newton, every row at once, from the ideal ones
        solve = _accelerations(family, rows, False)
        for _ in range(MULTIPLIER_ITERATIONS):
            x, before = solve(x, t, q, v, p, vectors), x
            if np.max(np.abs(x - before), initial=0.0) <= 1e-9 * (1 + np.max(np.abs(x), initial=0.0)):
                break
    return x


#: Newton steps for the multipliers of a non-ideal reaction.
MULTIPLIER_ITERATIONS = 30


@for_family()
def _accelerations(family: Family, rows, ideal: bool) -> RowSolver:
    """One Newton step from x0 for the accelerations and multipliers (x0 is empty where the equations are linear)."""

    def residual(x, x0, t, q, v, p, parameters):
        mechanics = mechanics_of(family.at(parameters), rows)
        equations = functools.partial(_acceleration, mechanics, t=t, q=q, v=v, p=p, ideal=ideal)
        if ideal:
            return equations(x)
        value, change = jax.jvp(equations, (x0,), (x - x0,))
        return value + change

    def size(x0, t, q, v, p, parameters) -> int:
        mechanics = mechanics_of(family.at(parameters), rows)
        t, q = (jax.ShapeDtypeStruct(np.shape(part), jnp.float64) for part in (t, q))
        holonomic = jax.eval_shape(mechanics.constraint, t, q).shape[0]
        return 2 * q.shape[0] + holonomic + jax.eval_shape(mechanics.velocity_constraint, t, q, q).shape[0]

    return RowSolver(residual, size)


#: Functions through which an energy-momentum method goes: what gives the invariants, and what takes them.
THROUGH = (
    ("potential_invariants", "potential_of"),
    ("constraint_invariants", "constraint_of"),
    ("phase_invariants", "hamiltonian_of"),
)


def digest_of(traced: Iterable[Any]) -> str:
    """A digest of traced functions with all constants in them."""
    result = hashlib.blake2b(digest_size=16)
    for function in traced:
        result.update(without_places(str(function.jaxpr)).encode())
        for constant in function.consts:
            result.update(np.ascontiguousarray(constant).tobytes())
    return result.hexdigest()


def without_places(text: str) -> str:
    """Text without the places in memory that Python writes into it."""
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def recognised(system: AbstractSystem, n: int) -> Dependencies:
    """What a system of n coordinates reads; where that cannot be followed, its equations as they are traced now. For
    the rest of this call of the library the system is known by them."""
    reads = reads_of_system(system)
    if reads.unclear is None:
        return reads
    try:
        traced = _traced(system, n)
    except Exception:  # a model that is not in order is refused elsewhere, with its reason
        return reads
    return known_in_this_call(system, (traced, n), reads)


def _traced(system: AbstractSystem, n: int) -> str:
    family, number = Family(system), jax.ShapeDtypeStruct((), jnp.float64)
    vector, parameters = (jax.ShapeDtypeStruct((size,), jnp.float64) for size in (n, family.size))

    def equations(t, q, v, p, parameters):
        m = mechanics_of(family.at(parameters))
        model: Any = m.system
        lam, psi = jnp.ones_like(m.constraint(t, q)), jnp.ones_like(m.velocity_constraint(t, q, v))
        found = [m.legendre(t, q, v, p), m.rate(t, q, v, p), m.energy(t, q, v, p), m.constraint(t, q)]
        found += [m.velocity_constraint(t, q, v), m.reactions(t, q, v, p, lam * q[0], psi * q[0])]
        if m.contact.present:
            contacts, impulse = m.contact.count(t, q), q[0] * jnp.ones_like(m.contact.gap(t, q))
            found += [m.contact.gap(t, q), m.contact.tangents(t, q)]
            found += [m.contact.restitution(contacts), m.contact.friction(contacts)]
            found += [model.impact(q, p, impulse)] if isinstance(model, DifferentialAlgebraicInequality) else []
        if model.provides("invariants"):
            found.append(model.invariants(t, q, p))
        for source, function in THROUGH:
            if model.provides(source):
                z = getattr(model, source)(*((q, p) if source == "phase_invariants" else (q,)))
                found += [z, *([getattr(model, function)(z)] if model.provides(function) else [])]
        return found

    return digest_of([jax.make_jaxpr(equations)(number, vector, vector, vector, parameters)])
