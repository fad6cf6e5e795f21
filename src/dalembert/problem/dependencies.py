"""What the functions of a system read besides their arguments: by this, and not by its class, a system is known.

Compiled equations may be used again as long as nothing changed that went into them: the code of the functions, the
globals and closures they read, class attributes, attributes of objects, the contents of arrays and containers, and what
the functions called by them read in turn. `dependencies(system)` goes through all of it and returns a key: two keys are
equal only if everything in them is the same, immutable values by type and value (1, 1.0 and True differ, 0.0 and -0.0
too), arrays by their bytes, code and JAX arrays, which cannot change, by identity. Float parameters count by their
shape alone.

That proves sameness only where every value met is understood. Where one is not (a random generator, the clock, a file,
`eval`), the key is equal to nothing but itself, and the equations are traced anew. Python, NumPy, SciPy, JAX and this
library are taken not to change themselves.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import hashlib
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .purity import (
    CONTAINERS,
    READING,
    REMEMBERING,
    UNCLEAR_BUILTINS,
    WRITTEN,
    is_found_in_module,
    is_own,
    is_pure,
    is_transparent,
    reads_of,
    slots_of,
)

#: So many values are looked at; beyond, tracing anew is cheaper.
MOST_VALUES = 20_000
#: Arrays with more bytes are known by a digest of them.
LONG_ARRAY = 4096
PARAMETER = "parameter"
_ATOMS = (int, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range)
_ABSENT: Any = object()
#: What cannot change.
_FIXED = (
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    type(vars(NamedTuple("Pair", [("first", int)]))["first"]), np.ufunc, object,
)  # fmt: skip
#: What a wrapper consists of.
_PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args", "keywords"),
    functools.partialmethod: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    property: ("fget", "fset", "fdel"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    slice: ("start", "stop", "step"),
}


class Dependencies:
    """A key for everything that functions read. `unclear` says what could not be followed: then it is equal only to
    itself. `remembered`: whether JAX may remember functions in it as they were."""

    __slots__ = ("__weakref__", "_hash", "_kept", "_marks", "facts", "remembered", "unclear")

    def __init__(self, walk: _Walk, unclear: str | None) -> None:
        self.facts, self._marks, self.unclear = tuple(walk.facts), walk.marks, unclear
        self._kept = walk.kept  # identities are those of living things as long as the key lives
        self.remembered = walk.remembered
        self._hash = hash(self.facts) if unclear is None else id(self)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Dependencies) or self._hash != other._hash:
            return False
        return self.unclear is None and other.unclear is None and self.facts == other.facts

    def agrees(self, other: Dependencies) -> bool:
        """Whether both are the same but for the shapes of parameters: the equations of one and of many."""
        if self == other or self.unclear is not None or other.unclear is not None:
            return self == other
        return [f for f in self.facts if not _is_shape(f)] == [f for f in other.facts if not _is_shape(f)]

    def difference(self, now: Dependencies) -> str:
        """What changed first, in words."""
        for which in (self, now):
            if which.unclear is not None:
                return f"{which.unclear} cannot be followed"
        pairs = zip(self.facts, now.facts, strict=False)
        place = next((k for k, (old, new) in enumerate(pairs) if old != new), min(len(self.facts), len(now.facts)))
        names = [name for start, name in now._marks if start <= place]
        return f"{names[-1] if names else 'its class'} changed"


def _is_shape(fact: Any) -> bool:
    return type(fact) is tuple and fact[:1] == (PARAMETER,)


class _Unclear(Exception):
    """A value that cannot be followed."""


_held = threading.local()


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Inside, what a system reads is looked at once: it does not change during one call of the library."""
    if getattr(_held, "known", None) is not None:
        yield
        return
    _held.known = {}
    try:
        yield
    finally:
        _held.known = None


def holding(function: Callable) -> Callable:
    """The function as one call of the library; see `held`."""

    @functools.wraps(function)
    def call(*arguments, **options):
        with held():
            return function(*arguments, **options)

    return call


def dependencies(owner: Any, is_parameter: Callable[[Any], bool] | None = None) -> Dependencies:
    """What a system reads, or a method, which has no parameters."""
    known = getattr(_held, "known", None)
    if known is not None and id(owner) in known:
        return known[id(owner)][1]
    walk, unclear = _Walk(is_parameter), None
    try:
        walk.owner(owner)
    except _Unclear as reason:
        unclear = f"{reason} in {walk.name}" if walk.name else str(reason)
    except RecursionError:
        unclear = "values nested too deeply"
    if walk.remembered:
        _forget_changed(walk.functions, unclear is not None)
    found = Dependencies(walk, unclear)
    if known is not None:
        known[id(owner)] = owner, found  # with the owner, so that no other one takes its place in memory
    return found


#: What the functions read that JAX may remember as they were, when they were last met.
_last_met: weakref.WeakKeyDictionary[types.FunctionType, Dependencies] = weakref.WeakKeyDictionary()


def _forget_changed(functions: list[types.FunctionType], unclear: bool) -> None:
    """JAX remembers a function handed to `jit`, `scan`, `cond` and the like by its identity, whatever it reads: where
    that has changed, JAX has to forget all it remembers."""
    if isinstance(jnp.zeros(()), Tracer):
        return  # inside jit, vmap or grad, whose own trace is under way
    changed = unclear
    for function in functions:
        walk, why = _Walk(None), None
        try:
            walk.visit(function)
        except _Unclear as reason:
            why = str(reason)
        now, before = Dependencies(walk, why), _last_met.get(function)
        changed |= before is not None and before != now
        _last_met[function] = now
    if changed:
        jax.clear_caches()


def known_in_this_call(owner: Any, facts: tuple, reads: Dependencies) -> Dependencies:
    """A key of a system by something else than what it reads, for the rest of this call of the library."""
    walk = _Walk(None)
    walk.facts, walk.kept, walk.remembered = [id(type(owner)), *facts], [type(owner)], reads.remembered
    found, known = Dependencies(walk, None), getattr(_held, "known", None)
    if known is not None:
        known[id(owner)] = owner, found
    return found


class _Walk:
    """One way through all values."""

    def __init__(self, is_parameter: Callable[[Any], bool] | None) -> None:
        self._is_parameter = is_parameter
        self.facts: list[Any] = []
        self.marks: list[tuple[int, str]] = []
        self.kept: list[Any] = []
        self.name, self.remembered = "", False
        self.functions: list[types.FunctionType] = []
        self._met: dict[int, int] = {}

    def owner(self, value: Any) -> None:
        self._class(type(value))
        self._entries(vars(value), "field", varying=self._is_parameter is not None)

    # -- facts -------------------------------------------------------------------------------------------------

    def _mark(self, name: str) -> None:
        self.name = name
        self.marks.append((len(self.facts), name))
        self.facts.append(name)
        if len(self.facts) > MOST_VALUES:
            raise _Unclear(f"more than {MOST_VALUES} values")

    def _same(self, value: Any) -> None:
        """By identity: what cannot change."""
        self.facts.append(id(value))
        self.kept.append(value)

    def _again(self, value: Any) -> bool:
        """Whether this very object was met before on the way."""
        place = self._met.get(id(value))
        if place is None:
            self._met[id(value)] = len(self._met)
            self.kept.append(value)
            return False
        self.facts.append(("again", place))
        return True

    def _entries(self, entries: Mapping[str, Any], kind: str, *, varying: bool = False) -> None:
        for name, value in list(entries.items()):
            self._mark(f"{kind} {name}")
            self.visit(value, varying)

    # -- values ------------------------------------------------------------------------------------------------

    def visit(self, value: Any, varying: bool = False) -> None:
        """Any value; with `varying`, floats in it are parameters, of which only the shape counts."""
        kind = type(value)
        if varying and self._is_parameter is not None and self._is_parameter(value):
            self.facts.append((PARAMETER, np.shape(value)))
        elif kind in _ATOMS:
            self.facts += (kind, value)
        elif kind is float:
            self.facts.append(value.hex())
        elif kind is types.FunctionType:
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.ModuleType):
            self._module(value, None)
        elif isinstance(value, Tracer):
            raise _Unclear("a traced value")
        elif isinstance(value, jax.Array):
            self._same(value)
        else:
            self._other(value, kind, varying)

    def _other(self, value: Any, kind: type, varying: bool) -> None:
        if kind is complex or isinstance(value, np.generic | np.dtype):
            self.facts += (kind, repr(value) if kind is complex else str(value), np.asarray(value).tobytes()
                           if isinstance(value, np.generic) else b"")  # fmt: skip
        elif self._again(value):
            pass
        elif kind in _PARTS:
            self.facts.append(kind)
            for part in _PARTS[kind]:
                self.visit(getattr(value, part))
        elif kind in _FIXED:
            self._same(value)
        elif kind in (types.BuiltinFunctionType, types.MethodWrapperType):
            self._builtin(value)
        elif kind.__name__ in ("PjitFunction", "_lru_cache_wrapper"):
            self.remembered = True
            self.visit(value.__wrapped__)
        else:
            if isinstance(value, np.ndarray):
                self._array(value)
            elif isinstance(value, CONTAINERS):
                self._container(value, varying)
            if kind is not np.ndarray and kind not in CONTAINERS:
                self._instance(value, kind, varying)

    def _array(self, value: np.ndarray) -> None:
        if value.dtype == object:
            self.facts.append(value.shape)
            for element in value.ravel().tolist():
                self.visit(element)
            return
        content = value.tobytes()
        short = content if len(content) < LONG_ARRAY else hashlib.blake2b(content, digest_size=32).digest()
        self.facts += (value.dtype.str, value.shape, short)

    def _container(self, value: Any, varying: bool) -> None:
        self.facts += (type(value), len(value))
        if isinstance(value, dict | types.MappingProxyType):
            for key, element in list(value.items()):
                self.visit(key)
                self.visit(element, varying)
        else:
            for element in value if isinstance(value, list | tuple) else sorted(value, key=repr):
                self.visit(element, varying)

    def _builtin(self, value: Any) -> None:
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            module = owner.__name__ if owner is not None else value.__module__ or ""
            if not is_pure(module) or value.__name__ in READING | UNCLEAR_BUILTINS:
                raise _Unclear(f"{module}.{value.__name__}")
            self._same(value)
        else:
            self.facts.append(value.__name__)
            self.visit(owner)

    def _instance(self, value: Any, kind: type, varying: bool) -> None:
        """An object by its class, its content and its attributes."""
        if not all(is_transparent(base) for base in kind.__mro__):
            raise _Unclear(f"an object of {kind.__module__}.{kind.__qualname__}")
        self._class(kind)
        for base in (int, float, str, bytes):
            if isinstance(value, base):
                self.facts.append(base.__repr__(value))  # pyright: ignore[reportArgumentType]
        whole = varying and isinstance(value, eqx.Module)
        fixed = {f.name for f in dataclasses.fields(kind) if f.metadata.get("static")} if whole else set()  # pyright: ignore[reportArgumentType]
        entries = dict(getattr(value, "__dict__", {}))
        entries |= {name: getattr(value, name, None) for base in kind.__mro__ for name in slots_of(base)}
        for name, element in entries.items():
            self._mark(f"{kind.__name__}.{name}")
            self.visit(element, whole and name not in fixed)

    # -- classes, modules, functions ---------------------------------------------------------------------------

    def _class(self, value: type) -> None:
        self._same(value)
        if is_own(value) or self._again(value):
            return
        for base in value.__mro__:
            if is_own(base):
                self._same(base)
                continue
            for name, entry in list(vars(base).items()):
                if name in WRITTEN or _written_by_dataclass(entry):
                    continue
                self._mark(f"{base.__name__}.{name}")
                self.visit(entry)

    def _module(self, module: types.ModuleType, chain: tuple[str, ...] | None) -> None:
        """What a formula takes from a module: `chain` are the names that follow it; None where it is handed on."""
        self._same(module)
        if is_pure(module.__name__):
            if chain is None and module.__name__.split(".")[0] in ("numpy", "scipy", "operator", "builtins"):
                raise _Unclear(f"the module {module.__name__}, handed on as a value")
            for name in chain or ():
                of_jax = module.__name__.startswith("jax")
                if name in READING and not of_jax:
                    raise _Unclear(f"{module.__name__}.{name}")
                self.remembered |= of_jax and name in REMEMBERING
                inner = vars(module).get(name)
                if not isinstance(inner, types.ModuleType):
                    return
                module = inner
                if not is_pure(module.__name__):
                    raise _Unclear(f"the module {module.__name__}")
            return
        if module.__name__.split(".")[0] in sys.stdlib_module_names:
            raise _Unclear(f"the module {module.__name__}")
        if not chain:
            raise _Unclear(f"the module {module.__name__}, handed on as a value")
        inner = vars(module).get(chain[0], _ABSENT)
        if inner is _ABSENT:
            raise _Unclear(f"{module.__name__}.{chain[0]}")
        self._mark(f"{module.__name__}.{chain[0]}")
        if isinstance(inner, types.ModuleType):
            self._module(inner, chain[1:])
        else:
            self.visit(inner)

    def _function(self, function: types.FunctionType) -> None:
        if self._again(function):
            return
        code = function.__code__
        self._same(code)
        library = is_pure(function.__globals__.get("__name__", ""))
        if library and (not function.__closure__ or is_found_in_module(function)):
            return
        reads = reads_of(code)
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for name, cell in cells.items():
            self._mark(f"{name} in {function.__qualname__}")
            try:
                value = cell.cell_contents
            except ValueError:
                raise _Unclear("a name without a value") from None
            self._value_of_name(value, reads.chains.get(name))
        for part in (function.__defaults__, function.__kwdefaults__, function.__dict__):
            if part:
                self.visit(part)
        if library:
            return
        if reads.unclear:
            raise _Unclear(reads.unclear)
        self.functions.append(function)
        self.remembered |= reads.remembering
        space, inherent = function.__globals__, vars(builtins)
        for name in reads.names:
            value = space.get(name, _ABSENT)
            if value is _ABSENT:
                if name in UNCLEAR_BUILTINS and name in inherent:
                    raise _Unclear(f"{name}(...)")
                continue  # a builtin; a name that appears later is another fact
            self._mark(f"the global {name}")
            self._value_of_name(value, reads.chains.get(name))

    def _value_of_name(self, value: Any, chains: tuple[tuple[str, ...], ...] | None) -> None:
        if not isinstance(value, types.ModuleType):
            self.visit(value)
            return
        for chain in chains or ((),):
            self._module(value, chain or None)


def _written_by_dataclass(entry: Any) -> bool:
    return type(entry) is types.FunctionType and entry.__code__.co_qualname.startswith("__create_fn__.")
