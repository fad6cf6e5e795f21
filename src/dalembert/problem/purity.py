"""What can be taken for granted about packages and classes, and which names a piece of code reads.

Python, NumPy, SciPy, JAX and this library are taken not to change themselves.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
import weakref
from typing import Any

import numpy as np

#: Packages whose functions depend on their arguments alone (but for what is named below).
PURE = frozenset(
    (
        "jax",
        "jaxlib",
        "numpy",
        "scipy",
        "equinox",
        "lineax",
        "optimistix",
        "diffrax",
        "jaxtyping",
        "dalembert",
        "math",
        "cmath",
        "functools",
        "itertools",
        "operator",
        "collections",
        "dataclasses",
        "typing",
        "numbers",
        "fractions",
        "enum",
        "abc",
        "types",
        "copy",
        "string",
        "re",
        "contextlib",
        "warnings",
        "builtins",
        "__future__",
        "_operator",
        "_functools",
        "_collections",
    )
)
#: Parts of them that do not, or whose modules hold models like those of a user.
IMPURE = ("numpy.random", "numpy.ctypeslib", "numpy.f2py", "scipy.io", "scipy.datasets")
MODELS = ("dalembert.gallery", "dalembert.papers")
#: Functions of pure packages that read something else than their arguments.
READING = frozenset(
    ("random", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "open", "environ", "eval", "exec", "compile")
)
#: Builtins that read what cannot be followed.
UNCLEAR_BUILTINS = frozenset(("eval", "exec", "compile", "globals", "open", "input", "__import__", "breakpoint"))
#: Functions of JAX that remember what a function was when they first met it.
REMEMBERING = frozenset(
    ("jit", "scan", "cond", "switch", "while_loop", "fori_loop", "map", "associative_scan", "checkpoint", "remat")
)
#: What Python, equinox and abc write into a class themselves.
WRITTEN = frozenset(
    (
        "__module__",
        "__qualname__",
        "__annotations__",
        "__doc__",
        "__dict__",
        "__weakref__",
        "__abstractmethods__",
        "_abc_impl",
        "__abstractvars__",
        "__abstractclassvars__",
        "__dataclass_params__",
        "__dataclass_fields__",
        "__match_args__",
        "__parameters__",
        "__orig_bases__",
        "__slots__",
        "__static_attributes__",
        "__firstlineno__",
        "__annotate__",
        "__annotations_cache__",
    )
)
#: As CPython has them: the flag of a class that is not compiled in, and the size of a pointer.
HEAP_TYPE, POINTER = 1 << 9, 8
#: Containers whose elements are looked at.
CONTAINERS = (list, tuple, dict, set, frozenset, types.MappingProxyType)


class Reads:
    """The names that code, and the functions defined in it, read from outside, and the attributes that follow them."""

    def __init__(self, code: types.CodeType) -> None:
        self.chains: dict[str, tuple[tuple[str, ...], ...]] = {}
        self.remembering, self.unclear = False, ""
        globals_read: dict[str, None] = {}
        self._read(code, globals_read)
        self.names = tuple(globals_read)

    def _read(self, code: types.CodeType, globals_read: dict[str, None]) -> None:
        instructions = list(dis.get_instructions(code))
        for place, step in enumerate(instructions):
            if step.opname in ("IMPORT_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                self.unclear = f"{'import' if step.opname == 'IMPORT_NAME' else 'global'} {step.argval} in a function"
            if step.opname not in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
                continue
            name, chain = step.argval, []
            for following in instructions[place + 1 :]:
                if following.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                    break
                chain.append(following.argval)
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                globals_read[name] = None
            self.chains[name] = tuple(dict.fromkeys((*self.chains.get(name, ()), tuple(chain))))
            self.remembering |= name in REMEMBERING
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._read(constant, globals_read)


#: Code by its identity: `==` of code compares every byte. With the code, so that its place in memory stays its own.
_known_reads: dict[int, tuple[types.CodeType, Reads]] = {}


def reads_of(code: types.CodeType) -> Reads:
    known = _known_reads.get(id(code))
    if known is None:
        if len(_known_reads) > 5000:  # a notebook may define the same functions very often
            _known_reads.clear()
        known = _known_reads[id(code)] = code, Reads(code)
    return known[1]


@functools.lru_cache(4096)
def is_pure(module: str) -> bool:
    """Whether the functions of a module depend on their arguments alone."""
    within = any(module == name or module.startswith(name + ".") for name in (*IMPURE, *MODELS))
    return module.split(".")[0] in PURE and not within


_own_classes: weakref.WeakSet[type] = weakref.WeakSet()


def is_own(value: type) -> bool:
    """Whether a class is one of Python's or of a pure package, not a user's that only says so."""
    if value in _own_classes:
        return True
    module = value.__module__ if isinstance(value.__module__, str) else ""
    found = is_pure(module) and _by_name(module, value.__qualname__) is value
    if found:
        _own_classes.add(value)
    return found


@functools.lru_cache(4096)
def is_transparent(kind: type) -> bool:
    """Whether all that objects of a class consist of can be seen from Python: a class written in it, or one of those
    whose content is looked at."""
    if kind in (object, int, float, str, bytes, np.ndarray, types.SimpleNamespace, *CONTAINERS):
        return True
    base = kind.__base__
    if base is None or not kind.__flags__ & HEAP_TYPE or "__module__" not in vars(kind):
        return False
    return kind.__basicsize__ <= base.__basicsize__ + POINTER * (2 + len(slots_of(kind)))


def is_found_in_module(function: types.FunctionType) -> bool:
    return _by_name(function.__module__ or "", function.__qualname__) is function


def _by_name(module: str, name: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found


def slots_of(kind: type) -> list[str]:
    names = vars(kind).get("__slots__", ())
    return [n for n in ([names] if isinstance(names, str) else names) if n not in ("__dict__", "__weakref__")]
