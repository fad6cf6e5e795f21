"""From LLVM text to machine code in memory; what was compiled once is found on disk."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
from collections.abc import Callable

import llvmlite
import llvmlite.binding as llvm

from ..tuning import tuning
from . import helper
from .code_cache import read, write
from .object_code import OPTION, host, object_code, target_machine


@functools.cache
def _identity() -> str:
    return " ".join([llvm.get_default_triple(), *host(), "llvmlite", llvmlite.__version__, OPTION])


class NativeCode:
    """Compiled code and the address of its functions; keeps the memory alive."""

    def __init__(self, object_code: bytes) -> None:
        machine = target_machine(2, *host())
        with helper.no_fork:
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
            self._engine.finalize_object()
        self._addresses: dict[str, int] = {}

    def function(self, name: str, *argument_types, result: type | None = None):
        """A callable that releases the interpreter lock while it runs. It keeps the code, which must outlive it."""
        found = ctypes.CFUNCTYPE(result, *argument_types)(self.address(name))
        found.code = self  # pyright: ignore[reportAttributeAccessIssue]
        return found

    def address(self, name: str) -> int:
        """Where a function lies, for other compiled code."""
        if name not in self._addresses:
            self._addresses[name] = self._engine.get_function_address(name)
        return self._addresses[name]


def lanes() -> int:
    """Float64 numbers in a vector register of this machine."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 8
    return 4 if features.get("avx") else 2


#: Passes over the function `run`, by the kind of its code. The usual ones take as long as everything else together:
#: on straight-line code they gain at most 4 per cent, in code that is written in vectors and loops they find nothing.
PASSES = {"straight lines": ("sroa", "simplify_cfg"), "loops": ("sroa", "instruction_combine", "simplify_cfg")}


def _passes(kind: str | None, effort: int) -> tuple[str, ...] | None:
    return None if kind is None else PASSES[kind if effort else "straight lines"]


def _key(text: str, effort: int, kind: str | None) -> str:
    return hashlib.sha256(f"{_identity()}\n{effort} {_passes(kind, effort)}\n{text}".encode()).hexdigest()


def is_cached(text: str, effort: int, kind: str | None = None) -> bool:
    """Whether `compile_text` would find the code on disk, and find it sound."""
    return read(_key(text, effort, kind)) is not None


def compile_text(
    text: str, effort: int, kind: str | None = None, emit: Callable[..., bytes] | None = None
) -> tuple[NativeCode, bool]:
    """Machine code for a module, and whether it came from the cache; `kind` names the passes, else the usual ones.
    `emit` is where LLVM works."""
    key = _key(text, effort, kind)
    cached = read(key)
    if cached is not None:
        return NativeCode(cached), True
    code = (emit or _emit)(text, effort, _passes(kind, effort), *host())
    write(key, code)
    return NativeCode(code), False


def takes_long(text: str, effort: int) -> bool:
    """Whether LLVM takes more than half a second or so; the end of a program and Ctrl-C should not wait for that."""
    return len(text) > tuning().long_text[effort]


def _emit(text: str, effort: int, *rest) -> bytes:
    """Here, where that is quick."""
    if takes_long(text, effort):
        with contextlib.suppress(helper.HelperFailed):
            return helper.interruptibly(text, effort, *rest)
    with helper.no_fork:
        return object_code(text, effort, *rest)
