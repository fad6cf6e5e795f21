"""Arguments as they come from a user, checked and converted; each refusal names the argument and what came.

Arrays where numbers belong, text where choices belong, numbers where True or False belong: what Python would take for
something else is refused here.
"""

from __future__ import annotations

import inspect
import numbers
import os
import pathlib
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from .errors import InputError

#: Smaller positive numbers have fewer digits, and some processors and compilers take them for 0.
SMALLEST_NUMBER = np.finfo(np.float64).tiny


def shown(value: Any, most: int = 200) -> str:
    """What came, short enough for a message."""
    if isinstance(value, int) and abs(value) > 10**30:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def choice(name: str, value: Any, options: Iterable[str]) -> str:
    """One of several words."""
    options = list(options)
    if not isinstance(value, str) or value not in options:
        words = ", ".join(f'"{word}"' for word in options[:-1]) + (" or " if options[1:] else "") + f'"{options[-1]}"'
        raise InputError(f"{name} must be {words}, got {shown(value)}.")
    return value


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that merely counts as one of them: "no" would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def check_double() -> None:
    """Refuse to compute in single precision: JAX was told so after this library had told it otherwise."""
    if jax.dtypes.canonicalize_dtype(np.float64) != np.float64:
        raise InputError(
            "JAX computes in 32 bits: jax_enable_x64 was switched off after dalembert had switched it on. Every number "
            'here needs 64 bits: call jax.config.update("jax_enable_x64", True), or leave the block that set it.'
        )


def unmasked(name: str, value: Any) -> np.ndarray:
    """An array of which nothing is masked: a mask says that the numbers below it do not count."""
    if np.ma.is_masked(value):
        raise InputError(f"{name} must have no masked entries, got {shown(value)}; fill them, or leave them out.")
    return np.asarray(value)


def real(value: Any) -> float | None:
    """A real number as a float, NaN and infinities too; None for anything else."""
    if isinstance(value, bool | np.bool_ | str | bytes) or value is np.ma.masked:
        return None
    try:
        if isinstance(value, numbers.Real):
            return float(value)
        array = np.asarray(value)
        return float(array) if array.ndim == 0 and array.dtype.kind in "fiu" else None
    except (TypeError, ValueError, OverflowError):  # ragged, traced, or too large for a float
        return None


def number(name: str, value: Any, least: float = -np.inf, most: float = np.inf) -> float:
    """A finite number between `least` and `most`."""
    found = real(value)
    if found is None or not np.isfinite(found) or not least <= found <= most:
        kind = "a finite number" + (f" >= {least:g}" if np.isfinite(least) else "")
        kind = f"a number between {least:g} and {most:g}" if np.isfinite(most) else kind
        raise InputError(f"{name} must be {kind}, got {shown(value)}.")
    return found


def positive(name: str, value: Any) -> float:
    """A positive number."""
    found = real(value)
    if found is None or not SMALLEST_NUMBER <= found < np.inf:
        raise InputError(f"{name} must be a positive number, got {shown(value)}.")
    return found


def count(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """An integer between `least` and `most`."""
    good = isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= least
    if not good or (most is not None and value > most):
        kind = "a positive integer" if least == 1 else f"an integer >= {least}"
        kind = kind if most is None else f"an integer between {least} and {most}"
        raise InputError(f"{name} must be {kind}, got {shown(value)}.")
    return int(value)


def floats(name: str, value: Any, *, finite: bool = False) -> np.ndarray:
    """An array of real numbers as float64, of any shape."""
    try:
        array = unmasked(name, value)
    except InputError:
        raise
    except (TypeError, ValueError) as error:  # ragged, or traced
        raise InputError(f"{name} must be an array of floats, got {shown(value)}.") from error
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} must be an array of floats, got {array.dtype} ({shown(value)}).")
    array = array.astype(np.float64)
    if finite and not np.all(np.isfinite(array)):
        bad = int(np.flatnonzero(~np.isfinite(array.ravel()))[0])
        raise InputError(f"{name} must be finite, got {array.ravel()[bad]} at index {bad}.")
    return array


def interval(t: Any, backwards: bool = False) -> tuple[float, float]:
    """The pair (t0, t1) of finite times with t0 < t1, or, with `backwards`, t0 != t1."""
    try:
        first, last = t if not isinstance(t, str | bytes | dict | set) else (None, None)
    except (TypeError, ValueError):
        first, last = None, None
    t0, t1 = real(first), real(last)
    if t0 is None or t1 is None:
        raise InputError(f"t must be a pair (t0, t1) of numbers, got {shown(t)}.")
    ordered = t0 != t1 if backwards else t0 < t1
    if not (np.isfinite(t0) and np.isfinite(t1) and ordered and np.isfinite(t1 - t0)):
        needed = "two different times" if backwards else "t0 < t1"
        raise InputError(f"t must be a pair (t0, t1) of finite numbers with {needed}, got ({t0:g}, {t1:g}).")
    return t0, t1


def path(value: Any, what: str) -> pathlib.Path:
    """The path of a file or a folder; `what` is to be done with it, as in "cannot load"."""
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InputError(f"{what} {shown(value)}: expected the path of a file, as text or pathlib.Path.")
    found = pathlib.Path(text)
    try:
        found.is_dir()
    except OSError as error:  # a name that the file system cannot have, a folder that may not be looked into
        raise InputError(f"{what} {shown(text)}: {error.strerror or error}.") from error
    return found


def takes(function: Any, arguments: int) -> bool:
    """Whether something can be called with so many positional arguments, as far as one can tell without doing so. A
    class can, but it makes an object and no number."""
    return callable(function) and not isinstance(function, type) and binds(function, *range(arguments))


def takes_named(function: Any, names: Iterable[str]) -> bool:
    """Whether something can be called with arguments of these names and no others."""
    return callable(function) and binds(function, **dict.fromkeys(names))


def binds(function: Any, *arguments: Any, **named: Any) -> bool:
    """Whether a function takes these arguments."""
    try:
        inspect.signature(function).bind(*arguments, **named)
    except TypeError:
        return False
    except ValueError:  # builtins and some callables have no signature
        return True
    return True


def instance(name: str, value: Any, kind: type, example: str) -> Any:
    """Something of a class of the library; `example` says how to get one."""
    if not isinstance(value, kind):
        raise InputError(f"{name} must be {example}, got {shown(value, 80)}.")
    return value


def named_values(name: str, value: Any, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Arrays of one shape by name; NaN may be among them."""
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be a dict of named arrays, got {shown(value)}.")
    found = {str(key): floats(f"{name}[{key!r}]", values) for key, values in value.items()}
    for key, values in found.items():
        if values.shape != shape:
            raise InputError(f"{name}[{key!r}] must have shape {shape}, got {values.shape}.")
    return found


def check_writable(folder: pathlib.Path, what: str) -> None:
    """Refuse a folder in which no file can be made, by making one; `what` says what for."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"{what}: no file can be made in the folder {folder}: {error.strerror or error}.") from error


def one_of(kind: str, name: Any, known: Iterable[str], besides: str = "") -> InputError:
    """The error for a name that is none of those known; what was probably meant stands at its end."""
    import difflib

    names = sorted(known)
    near = difflib.get_close_matches(str(name).lower(), names, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return InputError(f"unknown {kind} {name!r}; expected {besides}one of: {', '.join(names)}.{meant}")
