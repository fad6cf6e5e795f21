"""What `dalembert studio` is told to open: a system of the gallery or of a file, a run, a model."""

from __future__ import annotations

import pathlib
import re

import numpy as np

from ..gallery import SYSTEMS
from ..method import method_named
from ..multibody import Multibody, load_model
from ..problem import AbstractSystem
from ..studio.exhibit import Exhibit, Launch, gallery_exhibit, run_exhibit, system_exhibit
from ..trajectory import load
from .models import DEFAULT_END, DEFAULT_STEP, is_file, launch_from, shown_in_file, system_from


def opened_exhibit(
    target: str, method: str | None, h: float | None, t_end: float | None, q0: str | None, v0: str | None,
    param: list[str],
) -> Exhibit:  # fmt: skip
    """What the command line names, opened."""
    chosen = "" if method is None else method.lower()
    if method is not None:
        method_named(method)  # refuses a name that is none
    path = pathlib.Path(target)
    if path.suffix.lower() == ".nc" or path.is_dir():
        return run_exhibit(_key(path.stem), load(target))
    if path.suffix.lower() in (".xml", ".urdf"):
        return _model_exhibit(path, chosen, h, t_end)
    if target.lower() in SYSTEMS and not (q0 or v0 or h or t_end or param or method):
        return gallery_exhibit(target.lower())
    found = shown_in_file(target) if is_file(target) else None
    if isinstance(found, Multibody):
        name = target.partition(".py:")[2]
        code = (*_module_code(target), f"system = module.{name}.system()") if name else ()
        return _exhibit_of_model(name or found.name, found, code, chosen, (h, t_end))
    system = system_from(target, param, found)
    launch = launch_from(system, q0, v0, None, 0.0, t_end, h)
    assert launch.v0 is not None  # no momentum is given
    own = Launch(launch.q0, launch.v0, launch.t0, launch.t_end, launch.h)
    names = [text.partition("=")[0].strip() for text in param]
    return system_exhibit(_key(type(system).__name__), system, own, _code(target, system, names), chosen)


def _model_exhibit(path: pathlib.Path, method: str, h: float | None, t_end: float | None) -> Exhibit:
    """A model from a file, in the pose nearest to that of the file."""
    code = (f"system = da.load_model({str(path.resolve())!r}).system()",)
    return _exhibit_of_model(path.stem, load_model(path), code, method, (h, t_end))


def _exhibit_of_model(
    name: str, model: Multibody, code: tuple[str, ...], method: str, run: tuple[float | None, float | None]
) -> Exhibit:
    """A model at rest in the pose nearest to its drawing; `run` is the step size and the end."""
    start, (h, t_end) = model.assemble(), run
    launch = Launch(np.asarray(start.q0), np.asarray(start.v0), 0.0, t_end or DEFAULT_END, h or DEFAULT_STEP)
    return system_exhibit(_key(name), model.system(), launch, code, method)


def _key(name: str) -> str:
    """A name for addresses that no system of the gallery has."""
    return "opened-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _code(target: str, system: AbstractSystem, given: list[str]) -> tuple[str, ...]:
    """Lines of Python that make a system of a file or of the gallery again, with the parameters of the command line."""
    values = ", ".join(f"{name}={_value(getattr(system, name))}" for name in given)
    if target.lower() in SYSTEMS:
        return (
            "from dalembert.gallery import system_named",
            "",
            f"system = system_named({target.lower()!r})({values})",
        )
    named = target.partition(".py:")[2]
    return (
        "import dataclasses",
        *_module_code(target),
        f"system = module.{named or type(system).__name__}",
        f"system = system({values}) if isinstance(system, type) else dataclasses.replace(system, {values})",
    )


def _module_code(target: str) -> tuple[str, ...]:
    """Lines of Python that load the file of a model as `module`."""
    path = pathlib.Path(target.partition(".py")[0] + ".py").resolve()
    return (
        "import importlib.util",
        "import sys",
        "",
        f"sys.path.insert(0, {str(path.parent)!r})",
        f"specification = importlib.util.spec_from_file_location({path.stem!r}, {str(path)!r})",
        "module = importlib.util.module_from_spec(specification)",
        f"sys.modules[{path.stem!r}] = module",
        "specification.loader.exec_module(module)",
    )


def _value(value) -> str:
    """A parameter as Python reads it back."""
    return f"np.array({value.tolist()!r})" if np.ndim(value) else repr(value)
