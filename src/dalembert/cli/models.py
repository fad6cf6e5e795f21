"""From what is typed to a system: the gallery or a file of the user's, parameters, starting values."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import pathlib
import sys
import traceback
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..arguments import one_of
from ..errors import DalembertError, InputError, ModelError
from ..gallery import SYSTEMS, Ready, system_named
from ..method import METHODS, Method, method_named
from ..multibody import Multibody
from ..problem import AbstractSystem, HamiltonianSystem, System, prepared

DEFAULT_END, DEFAULT_STEP = 10.0, 0.01


@dataclass(frozen=True)
class Launch:
    """Where a run begins and ends."""

    q0: np.ndarray
    v0: np.ndarray | None
    p0: np.ndarray | None
    t0: float
    t_end: float
    h: float
    is_default: bool  # the start the gallery gives, from which its exact solutions start


def system_names(incomplete: str) -> list[str]:
    """What the tab key offers where a system is named."""
    return [name for name in SYSTEMS if name.startswith(incomplete)]


def method_names(incomplete: str) -> list[str]:
    """What it offers where a method is named."""
    return [name for name in METHODS if name.startswith(incomplete)]


def system_from(target: str, parameters: list[str], found: Any = None) -> AbstractSystem:
    """The system that `target` names, with the parameters given as NAME=VALUE, all of them usable; `found` if its file
    was run already."""
    system = _built(target, parameters, found)
    prepared(system)  # refuses parameters that are no numbers, or not finite
    return system


def _built(target: str, parameters: list[str], found: Any) -> AbstractSystem:
    if found is None:
        found = found_in_file(target) if is_file(target) else _from_gallery(target)
    values = dict(_parameter(text) for text in parameters)
    kind = found if isinstance(found, type) else type(found)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    unknown = [name for name in values if name not in fields]
    if unknown:
        known = ", ".join(fields) or "none"
        raise InputError(f"{kind.__name__} has no parameter {unknown[0]!r}; it has: {known}.")
    if not isinstance(found, type):
        return dataclasses.replace(found, **values) if values else found
    missing = [name for name, field in fields.items() if _required(field) and name not in values]
    if missing:
        example = " ".join(f"--param {name}=..." for name in missing)
        raise InputError(f"{kind.__name__} needs values for {', '.join(missing)}: add {example}")
    try:
        return found(**values)
    except DalembertError:
        raise
    except Exception as error:
        given = ", ".join(f"{name}={value!r}" for name, value in values.items())
        raise InputError(
            f"cannot create {kind.__name__}({given}): {type(error).__name__}: {_one_line(error)}"
        ) from error


def launch_from(
    system: AbstractSystem,
    q0: str | None = None,
    v0: str | None = None,
    p0: str | None = None,
    t0: float = 0.0,
    t_end: float | None = None,
    h: float | None = None,
) -> Launch:
    """Starting values as typed, completed by those that a system of the gallery brings along."""
    ready = system.start() if isinstance(system, Ready) else None
    if v0 is not None and p0 is not None:
        raise InputError("give one of --v0 (velocity) and --p0 (momentum), not both.")
    position, velocity, momentum = (_vector(*pair) for pair in (("--q0", q0), ("--v0", v0), ("--p0", p0)))
    if position is None:
        if ready is None:
            raise InputError(
                f"{type(system).__name__} brings no starting values: add --q0 and --v0, for example --q0 1,0 --v0 0,0"
            )
        position = np.asarray(ready.q0)
    if velocity is None and momentum is None:
        if ready is None or q0 is not None:
            raise InputError("add the velocity --v0 or the momentum --p0 that belongs to --q0.")
        velocity = np.asarray(ready.v0)
    return Launch(
        q0=position,
        v0=velocity,
        p0=momentum,
        t0=t0,
        t_end=t_end if t_end is not None else (t0 + (ready.t_end if ready is not None else DEFAULT_END)),
        h=h if h is not None else (ready.h if ready is not None else DEFAULT_STEP),
        is_default=q0 is None and v0 is None and p0 is None and t0 == 0.0,
    )


# -- what is typed -------------------------------------------------------------------------------------------


def _vector(option: str, text: str | None) -> np.ndarray | None:
    if text is None:
        return None
    pieces = [piece.strip() for piece in text.strip().strip("[]()").replace(";", ",").split(",")]
    pieces = [piece for piece in pieces if piece] if len(pieces) > 1 else pieces[0].split()
    try:
        values = [float(piece) for piece in pieces]
    except ValueError:
        raise InputError(f"{option} must be numbers separated by commas, such as 1,0; got {text!r}.") from None
    if not values:
        raise InputError(f"{option} must be numbers separated by commas, such as 1,0; got {text!r}.")
    return np.array(values)


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = (part.strip() for part in text.partition("="))
    if not (name.isidentifier() and equals and value):
        raise InputError(f"--param must be NAME=VALUE, such as length=2.0; got {text!r}.")
    try:
        parsed = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        try:
            parsed = float(value)  # nan, inf: literals for no one but float
        except ValueError:
            parsed = {"true": True, "false": False}.get(value.lower(), value)
    if isinstance(parsed, tuple | list):
        parsed = np.array(parsed, dtype=float) if all(isinstance(x, int | float) for x in parsed) else parsed
    return name, parsed


def _required(field: dataclasses.Field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


# -- the gallery, and files ----------------------------------------------------------------------------------


def is_file(target: str) -> bool:
    """Whether a file is meant, not a name of the gallery."""
    return ".py" in target or ":" in target or "/" in target


def _from_gallery(name: str) -> type[Ready]:
    if name.lower() not in SYSTEMS:
        raise one_of("system", name, SYSTEMS, "a file such as model.py:Class, or ")
    return system_named(name)


def method_from(name: str) -> Method:
    """The method that `name` means: one of the catalogue, or path/to/methods.py:Class, which runs the file."""
    if not is_file(name):
        return method_named(name)
    found = _found_in_file(name, _METHOD)
    try:
        return found() if isinstance(found, type) else found
    except DalembertError:
        raise
    except Exception as error:
        raise InputError(
            f"cannot create {found.__name__}(): {_one_line(error)}. Add to the file a method with arguments, such as "
            f"mine = {found.__name__}(...), and name that."
        ) from error


def found_in_file(target: str) -> type[AbstractSystem] | AbstractSystem:
    """The class, or the instance, that path/to/model.py:Name means. This runs the file."""
    return _found_in_file(target, _SYSTEM)


def shown_in_file(target: str) -> type[AbstractSystem] | AbstractSystem | Multibody:
    """The same, or a model of bodies."""
    return _found_in_file(target, _SHOWN)


class _Sought(NamedTuple):
    """What is looked for in a file."""

    kind: type | tuple[type, ...]
    bases: tuple[type, ...]  # which a file imports to derive from them
    word: str
    example: str
    classes: str

    def fits(self, value: Any) -> bool:
        if isinstance(value, type):
            ready = self.kind is Method and value.__module__.startswith("dalembert.")
            return issubclass(value, self.kind) and value not in self.bases and not ready
        return isinstance(value, self.kind)


_SYSTEM = _Sought(
    AbstractSystem, (AbstractSystem, System, HamiltonianSystem, Ready), "system", "model.py:Class",
    "da.System or da.HamiltonianSystem",
)  # fmt: skip
_SHOWN = _SYSTEM._replace(
    kind=(AbstractSystem, Multibody), bases=(*_SYSTEM.bases, Multibody),
    classes="da.System or da.HamiltonianSystem, or a da.Multibody model",
)  # fmt: skip
_METHOD = _Sought(Method, (Method,), "method", "methods.py:Class", "da.Method")


def _found_in_file(target: str, sought: _Sought) -> Any:
    file, _, name = target.partition(".py:") if ".py:" in target else (target.removesuffix(".py"), "", "")
    path = pathlib.Path(file + ".py") if target.endswith(".py") or ".py:" in target else pathlib.Path(target)
    if path.suffix != ".py":
        raise InputError(f"expected a file such as {sought.example}, got {target!r}.")
    if not path.is_file():
        raise InputError(f"cannot import {path}: no such file.")
    module = _run_file(path)
    own = {key: value for key, value in vars(module).items() if sought.fits(value) and not key.startswith("_")}
    known = ", ".join(own) or "none"
    if not name:
        if len(own) != 1:
            raise InputError(f"say which {sought.word} of {path} is meant, as {path}:Name; it has: {known}.")
        return next(iter(own.values()))
    if name not in vars(module):
        raise InputError(f"{path} defines no {name!r}; its {sought.word}s: {known}.")
    found = getattr(module, name)
    if not sought.fits(found):
        kind = "a function" if callable(found) else type(found).__name__
        raise InputError(
            f"{name} in {path} is {kind}; expected a class derived from {sought.classes}, "
            f"or an instance of one. Its {sought.word}s: {known}."
        )
    return found


def _run_file(path: pathlib.Path) -> ModuleType:
    name = f"dalembert_model_{path.stem}"
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None  # the suffix is .py
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # a model may import its neighbours, as a script may
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ModelError(
            f"cannot import {path}{_line_of(error, path)}: {type(error).__name__}: {_one_line(error)}"
        ) from error
    return module


def _line_of(error: BaseException, path: pathlib.Path) -> str:
    """Where it happened: the last line of the file in the traceback, or the line that does not parse."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        place = pathlib.Path(error.filename or path)
        return f", line {error.lineno}" if place.name == path.name else f" ({place.name}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if pathlib.Path(frame.filename).resolve() == path.resolve()]
    return f", line {lines[-1]}" if lines else ""


def _one_line(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join((text or "no message").split())
