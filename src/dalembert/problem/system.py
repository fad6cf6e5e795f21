"""What moves: a Lagrangian or a Hamiltonian, constraints and forces, with parameters as fields.

Sign convention of the whole library::

    d/dt L_v = L_q + F - g_q^T lam - k_v^T psi + g_N,q^T lam_N,      lam_N >= 0.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..arguments import check_double, number, real, shown, unmasked
from ..errors import InputError, ModelError
from ..later import Later
from .dependencies import Dependencies, dependencies
from .inputs import Input, check_controlled, declared_inputs
from .misnamed import check_names

#: Functions through which an energy-momentum method builds its discrete derivatives; no other method asks for them.
INVARIANT_PARTS = (
    "potential_invariants", "potential_of", "constraint_invariants", "constraint_of", "phase_invariants",
    "hamiltonian_of",
)  # fmt: skip
OPTIONAL_PARTS = ("holonomic", "nonholonomic", "force", "reaction", "gap", "tangent", "invariants")
#: Plain attributes of every system; a subclass may make fields of them.
PLAIN_ATTRIBUTES = ("restitution", "friction", "bars", "names")
#: Functions that say how to draw a system; no method asks for them.
PICTURE_PARTS = ("points", "outline")
#: Functions that are evaluated along a run; no method asks for them.
RECORDED_PARTS = ("sensors",)


class AbstractSystem(eqx.Module):
    """What `System` and `HamiltonianSystem` share: the optional parts. Fields are parameters.

    A part that a subclass does not define is absent; `provides` tells. Float fields (and arrays of floats) are
    parameters: differentiable, batchable, changed without recompilation. Everything else (int, str, functions)
    is structure.
    """

    #: Whether v is a given function of (q, p), as from a Hamiltonian; else p is one of (q, v), as from a Lagrangian.
    gives_velocity: ClassVar[bool] = False
    #: The inputs of the class, as it declares them in `inputs`: {"name": da.Input(...)}.
    declared_inputs: ClassVar[dict[str, Input]] = {}
    #: Of a system whose inputs are driven: the class that the user wrote.
    driven_base: ClassVar[type | None] = None
    #: What a notebook shows, from `plots`.
    _repr_html_ = Later()

    # Plain attributes, not fields: a subclass may override them by a field or by a plain class attribute.
    restitution = 0.0
    friction = 0.0
    # For pictures: which points are joined, as pairs of their numbers (None: the origin), or "chain" for
    # origin - 0 - 1 - 2 - ...; nothing by default.
    bars = ()
    # For pictures of bodies: faces between the corners that `outline` places, as tuples of their numbers, convex and in
    # order; two numbers are an edge. And how large the balls at the points are, one radius each, 0 for none.
    faces = ()
    ball_radii = None
    # What tables and datasets call the coordinates, such as ("x", "y"); numbers by default.
    names = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """A plain attribute that overrides an inherited field is its new default, as one would expect."""
        super().__init_subclass__(**options)
        _take_inputs(cls)
        _check_names(cls)
        own = inspect.get_annotations(cls)
        inherited = {
            field.name: field.type
            for base in cls.__mro__[1:]
            if "__dataclass_fields__" in vars(base)
            for field in dataclasses.fields(base)
        }
        plain = {name: kind for name, kind in inherited.items() if name in vars(cls) and name not in own}
        _check_order(cls, own)
        cls.__annotations__ = plain | own

    def holonomic(self, t, q) -> Any:
        """Holonomic constraints g(t, q) = 0: a scalar or an array of shape (m,)."""
        raise NotImplementedError

    def nonholonomic(self, t, q, v) -> Any:
        """Nonholonomic constraints k(t, q, v) = 0: a scalar or an array of shape (k,)."""
        raise NotImplementedError

    def force(self, t, q, v) -> Any:
        """Forces that do not derive from the Lagrangian, shape (n,); of a system with inputs, force(t, q, v, u)."""
        raise NotImplementedError

    def controlled_force(self, t, q, v, u) -> Any:
        """`force` of a system with inputs, as its class wrote it."""
        raise NotImplementedError

    def reaction(self, t, q, v, psi) -> Any:
        """The non-ideal part of the constraint reaction, shape (n,); may be nonlinear in psi."""
        raise NotImplementedError

    def gap(self, t, q) -> Any:
        """Contact distances, >= 0, shape (contacts,); in lengths where q holds no Cartesian coordinates."""
        raise NotImplementedError

    def tangent(self, t, q) -> Any:
        """Friction directions, rows that turn v into the velocity along the contact: (contacts, n) in 2D,
        (contacts, 2, n) in 3D."""
        raise NotImplementedError

    def invariants(self, t, q, p) -> Any:
        """Quantities to watch, by name: a dict of scalars or arrays."""
        raise NotImplementedError

    def potential_invariants(self, q) -> Any:
        """Functions of q, at most quadratic, through which the potential can be written; shape (r,)."""
        raise NotImplementedError

    def potential_of(self, pi) -> Any:
        """The potential as terms, whose sum it is; one a invariant, shape (r,), costs least. Or as one scalar."""
        raise NotImplementedError

    def constraint_invariants(self, q) -> Any:
        """Functions of q, at most quadratic, through which the holonomic constraints can be written; shape (r,)."""
        raise NotImplementedError

    def constraint_of(self, zeta) -> Any:
        """The holonomic constraints, shape (m,). If each is a function of its own invariant, that costs least."""
        raise NotImplementedError

    def phase_invariants(self, q, p) -> Any:
        """Functions of (q, p), at most quadratic, through which the Hamiltonian can be written; shape (r,)."""
        raise NotImplementedError

    def hamiltonian_of(self, pi) -> Any:
        """The Hamiltonian as terms, whose sum it is, or as one scalar."""
        raise NotImplementedError

    def points(self, t, q) -> Any:
        """Where to draw the system's points, shape (points, 2) or (points, 3); fixed ones may be among them.

        Without it, pictures take consecutive pairs (or triples) of coordinates for points.
        """
        raise NotImplementedError

    def outline(self, t, q) -> Any:
        """Where the corners of bodies are, shape (corners, 2) or (corners, 3), between which `faces` are drawn; walls
        and floors, which stand still, may be among them."""
        raise NotImplementedError

    def sensors(self, t, q, v, a, lam, u) -> Any:
        """A dict of named numbers and vectors that sensors read: `run.sensors` holds them along a run,
        `Stepper.sensors` at a state. a is the acceleration, lam the multipliers, u the inputs, empty without any."""
        raise NotImplementedError

    @property
    def is_made_of_vectors(self) -> bool:
        """Whether the coordinates may be read as vectors in space, one after the other: translations and rotations of
        all of them are looked for among the symmetries."""
        return True

    def constraint_name(self, kind: str, row: int) -> str:
        """What messages call a constraint; `kind` is "holonomic" or "nonholonomic"."""
        return f"{kind}[{row}]"

    def dimension_names(self, holonomic: int, nonholonomic: int) -> dict[str, list[str]]:
        """What datasets call coordinates and constraints, where the system gives them names."""
        found = {"coordinate": [str(name) for name in self.names]} if len(self.names) else {}
        if type(self).constraint_name is not AbstractSystem.constraint_name:
            counts = {"holonomic": holonomic, "nonholonomic": nonholonomic}
            found |= {kind: [self.constraint_name(kind, k) for k in range(n)] for kind, n in counts.items() if n}
        return found

    @classmethod
    def provides(cls, part: str) -> bool:
        """True if this system's class defines the optional part."""
        return getattr(cls, part) is not getattr(AbstractSystem, part)

    @property
    def parts(self) -> tuple[str, ...]:
        """The optional parts this system defines."""
        return tuple(part for part in OPTIONAL_PARTS if self.provides(part))


def has_own_inputs(system: Any) -> bool:
    """Whether the inputs of a system are parameters, which change from step to step."""
    return getattr(system, "input_values", None) is not None


def _take_inputs(kind: type) -> None:
    """Where a class declares inputs, its force takes them; `force(t, q, v)` is then the force without input."""
    own: Any = vars(kind)
    if "inputs" in own:
        kind.declared_inputs = declared_inputs(kind, own["inputs"])  # pyright: ignore[reportAttributeAccessIssue]
    declared: dict[str, Input] = getattr(kind, "declared_inputs", {})
    if not declared or "driven_base" in own or "force" not in own:
        return
    check_controlled(kind, own["force"])
    size = sum(one.size for one in declared.values())

    def force(self, t, q, v):
        return self.controlled_force(t, q, v, jnp.zeros(size))

    force.__qualname__ = f"{kind.__qualname__}.force"
    made: Any = kind
    made.controlled_force, made.force = own["force"], force


def _check_names(kind: type) -> None:
    """Refuse functions under names that nobody asks for, beside the parts that a Lagrangian or Hamiltonian has."""
    own = next((name for name in ("lagrangian", "hamiltonian") if hasattr(kind, name)), None)
    if own is not None:
        asked = {*OPTIONAL_PARTS, own}
        check_names(kind, {part for part in asked if _is_written(kind, part)}, asked)


def _is_written(kind: type, part: str) -> bool:
    """Whether the class, or one that it inherits from, says what the part is."""
    base = next(base for base in reversed(kind.__mro__) if part in vars(base))
    return getattr(kind, part) is not vars(base)[part]


def _check_order(kind: type, annotations: dict[str, Any]) -> None:
    """Refuse a field without a default behind one that has the default of every system."""
    begun = None
    for name, hint in annotations.items():
        if "ClassVar" in str(hint):
            continue
        if name in PLAIN_ATTRIBUTES and name not in vars(kind):
            begun = name
        elif begun is not None and not hasattr(kind, name):
            raise ModelError(
                f"{kind.__name__}: the field {name} has no default and follows {begun}, which has the "
                f"default {getattr(kind, begun)!r} in all systems. Put {name} before {begun}, or give it a default."
            )


class System(AbstractSystem):
    """A mechanical system given by its Lagrangian.

    >>> class Pendulum(System):
    ...     length: float = 1.0
    ...
    ...     def lagrangian(self, t, q, v) -> Any:
    ...         return 0.5 * v @ v - 9.81 * q[1]
    ...
    ...     def holonomic(self, t, q) -> Any:
    ...         return 0.5 * (q @ q - self.length**2)
    """

    def lagrangian(self, t, q, v) -> Any:
        """L(t, q, v), a scalar."""
        raise NotImplementedError


class HamiltonianSystem(AbstractSystem):
    """A mechanical system given by its Hamiltonian H(t, q, p)."""

    gives_velocity: ClassVar[bool] = True

    def hamiltonian(self, t, q, p) -> Any:
        """H(t, q, p), a scalar."""
        raise NotImplementedError


def in_words(system: AbstractSystem, message: str) -> str:
    """A message with the names that a system gives its constraints in place of holonomic[3] and holonomic[3..7]."""
    if type(system).constraint_name is AbstractSystem.constraint_name:
        return message

    def names(found: re.Match) -> str:
        first, last = int(found[2]), int(found[3] or found[2])
        return ", ".join(system.constraint_name(found[1], row) for row in range(first, last + 1))

    return re.sub(r"\b(holonomic|nonholonomic)\[(\d+)(?:\.\.(\d+))?\]", names, message)


def system(
    lagrangian: Callable | None = None,
    *,
    hamiltonian: Callable | None = None,
    name: str = "system",
    **parts: Any,
) -> AbstractSystem:
    """Build a system from plain functions.

    `lagrangian(t, q, v)` or `hamiltonian(t, q, p)`, and any of holonomic, nonholonomic, force, reaction, gap,
    tangent, invariants, points, sensors; `inputs`, which `force(t, q, v, u)` takes. Every other keyword becomes a
    parameter (a field), handed by name to the functions that ask for it:

    >>> pendulum = system(
    ...     lambda t, q, v, g: 0.5 * v @ v - g * q[1],
    ...     holonomic=lambda t, q, length: 0.5 * (q @ q - length**2),
    ...     g=9.81,
    ...     length=1.0,
    ... )
    """
    if (lagrangian is None) == (hamiltonian is None):
        raise InputError("da.system expects exactly one of lagrangian=... and hamiltonian=...; give one of them.")
    main: dict[str, Any] = {"lagrangian": lagrangian} if lagrangian is not None else {"hamiltonian": hamiltonian}
    known = OPTIONAL_PARTS + INVARIANT_PARTS + PICTURE_PARTS + RECORDED_PARTS
    functions = main | {key: parts.pop(key) for key in known if key in parts}
    for key, function in functions.items():
        if not callable(function):
            raise InputError(f"da.system expects a function for {key}, got {type(function).__name__}.")
    namespace: dict[str, Any] = {key: _as_method(key, function, tuple(parts)) for key, function in functions.items()}
    if "inputs" in parts:
        namespace["inputs"] = parts.pop("inputs")
    # attributes that a base class has already count as fields with a default, which must come last
    ordered = sorted(parts, key=lambda key: key in PLAIN_ATTRIBUTES)
    namespace["__annotations__"] = {key: (float if _is_number(parts[key]) else Any) for key in ordered}
    base = System if lagrangian is not None else HamiltonianSystem
    kind: Any = type(base)
    return kind(name, (base,), namespace)(**parts)


def _as_method(name: str, function: Callable, parameters: tuple[str, ...]) -> Callable:
    try:
        wanted = [name for name in inspect.signature(function).parameters if name in parameters]
    except (TypeError, ValueError):  # builtins and some callables have no signature
        wanted = []

    def method(self, *args):
        return function(*args, **{name: getattr(self, name) for name in wanted})

    method.__name__ = name
    return method


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def is_parameter(value: Any) -> bool:
    """Whether a field, or a leaf of one, is a number that may vary within a family of systems."""
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return value.dtype.kind == "f" or bool(jnp.issubdtype(value.dtype, jnp.floating))
    return isinstance(value, float)


def prepared(system: AbstractSystem) -> AbstractSystem:
    """The system with its float fields as float64 arrays; integers given for float fields are converted.

    Raises `InputError` if a parameter is NaN or infinite, `ModelError` if it is not a system at all.
    """
    if not isinstance(system, AbstractSystem):
        if isinstance(system, type) and issubclass(system, AbstractSystem):
            raise InputError(
                f"expected a system, got the class {system.__name__}; create an instance: {system.__name__}()."
            )
        raise InputError(
            f"expected a da.System or da.HamiltonianSystem, got {type(system).__name__}. "
            "Derive a class from da.System or use da.system(lagrangian=...)."
        )
    for base, needed, arguments in REQUIRED:
        if isinstance(system, base) and getattr(type(system), needed) is getattr(base, needed):
            raise ModelError(f"{type(system).__name__} defines no {needed}({arguments}).")
    check_double()
    check_parameters(system)
    changes = {
        field.name: number(f"{field.name} of {type(system).__name__}", getattr(system, field.name))
        for field in dataclasses.fields(system)
        if field.type in (float, "float") and isinstance(getattr(system, field.name), int | np.integer)
    }
    if changes:
        system = dataclasses.replace(system, **changes)
    return jax.tree_util.tree_map_with_path(_checked_leaf, system)


def reads_of_system(system: AbstractSystem) -> Dependencies:
    """What the functions of a system read: the key under which its equations are kept."""
    return dependencies(system, is_parameter)


def check_parameters(system: AbstractSystem) -> None:
    """Refuse a field declared as `float` that is neither a number nor an array of them: one value for each member of a
    batch, or for each contact."""
    for field in dataclasses.fields(system):
        value = getattr(system, field.name)
        # those of contacts have a check of their own
        if field.type not in (float, "float") or field.name in PLAIN_ATTRIBUTES or isinstance(value, Tracer):
            continue
        is_array = isinstance(value, np.ndarray | jax.Array) and value.ndim and value.dtype.kind in "fiu"
        if real(value) is None and not is_array:
            raise InputError(f"parameter {field.name} of {type(system).__name__} must be a number, got {shown(value)}.")


#: What a class must define: (base, function, its arguments).
REQUIRED: list[tuple[type, str, str]] = [
    (System, "lagrangian", "t, q, v"),
    (HamiltonianSystem, "hamiltonian", "t, q, p"),
]


def _checked_leaf(path, leaf):
    if not is_parameter(leaf):
        return own(unmasked(_name(path), leaf)) if isinstance(leaf, np.ndarray) else leaf
    if isinstance(leaf, Tracer):
        return jnp.asarray(leaf, jnp.float64)
    name = _name(path)
    array = own(unmasked(name, leaf).astype(np.float64))
    if not np.all(np.isfinite(array)):
        raise InputError(f"{name} must be finite, got {leaf!r}.")
    return array


def _name(path) -> str:
    return f"parameter {jax.tree_util.keystr(path).lstrip('.')}"


def own(array: np.ndarray) -> np.ndarray:
    """A copy that nobody changes, of what is still the user's."""
    copied = np.array(array)
    copied.flags.writeable = False
    return copied


def split_parameters(system: AbstractSystem) -> tuple[AbstractSystem, AbstractSystem]:
    """(parameters, structure): the float leaves, and the rest; `eqx.combine` puts them together again."""
    return eqx.partition(system, is_parameter)


def parameter_record(system: AbstractSystem) -> dict[str, Any]:
    """The fields by name, for reports and files."""
    record = {}
    for field in dataclasses.fields(system):
        value = getattr(system, field.name)
        if isinstance(value, jax.Array | np.ndarray | float):
            value = np.asarray(value).tolist() if not isinstance(value, Tracer) else "traced"
        elif not isinstance(value, int | str | bool):
            value = repr(value)
        record[field.name] = value
    return record
