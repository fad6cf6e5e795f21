"""`dalembert studio`: the local page on which a system is seen, turned and changed."""

from __future__ import annotations

import pathlib
import re
import webbrowser
from typing import Annotated

import numpy as np
import typer

from ..errors import InputError
from ..gallery import SYSTEMS
from ..method import method_named
from ..multibody import load_model
from ..problem import AbstractSystem
from ..studio import Exhibit, Launch, gallery_exhibit, run_exhibit, system_exhibit
from ..trajectory import load
from . import show
from .models import DEFAULT_END, DEFAULT_STEP, launch_from, system_from
from .simulating import Q0, V0, Parameters, StepSize, TEnd

TARGET_HELP = (
    "A name of the gallery, path/to/model.py:Class, a run (.nc), or a model (.xml, .urdf); the gallery by default. "
    "A model file in Python is executed with your rights. Open only files you trust."
)


def studio_command(
    target: Annotated[
        str | None, typer.Argument(metavar="[NAME|FILE.py:CLASS|RUN.nc|MODEL.xml]", help=TARGET_HELP)
    ] = None,
    method: Annotated[str | None, typer.Option("--method", "-m", help="The method to begin with.")] = None,
    h: StepSize = None,
    t_end: TEnd = None,
    q0: Q0 = None,
    v0: V0 = None,
    param: Parameters = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    as_json: show.Json = False,
) -> None:
    """Open a page in the browser, on this machine only, where systems are seen, turned and changed."""
    try:
        from ..studio import server
    except ImportError as error:
        raise InputError(
            f"the studio needs {error.name}, which is not installed: pip install 'dalembert[studio]'"
        ) from error
    from ..studio.studio import Studio

    given = {"--q0": q0, "--v0": v0, "--h": h, "--t-end": t_end, "--param": param, "--method": method}
    opened = [] if target is None else [_exhibit(target, method, h, t_end, q0, v0, param or [])]
    if target is None and (unused := [name for name, value in given.items() if value]):
        raise InputError(f"{unused[0]} belongs to a system: name one, for example dalembert studio pendulum.")
    listening = server.bound_socket(port)
    studio, token = Studio(opened), server.new_token()
    address = f"http://{server.HOST}:{listening.getsockname()[1]}/{token}/"
    address += f"show/{opened[0].key}" if opened else ""
    if as_json:
        show.print_json({"address": address})
    console = show.console(quiet=as_json)
    console.print(f"studio   {address}", soft_wrap=True)
    console.print("Whoever has this address can use the studio. Ctrl-C ends it.", soft_wrap=True)
    if opened:
        studio.warm_up(opened[0])
    if browser:
        webbrowser.open(address)
    server.serve(studio, token, listening)


def _exhibit(
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
    system = system_from(target, param)
    launch = launch_from(system, q0, v0, None, 0.0, t_end, h)
    assert launch.v0 is not None  # no momentum is given
    own = Launch(launch.q0, launch.v0, launch.t0, launch.t_end, launch.h)
    names = [text.partition("=")[0].strip() for text in param]
    return system_exhibit(_key(type(system).__name__), system, own, _code(target, system, names), chosen)


def _model_exhibit(path: pathlib.Path, method: str, h: float | None, t_end: float | None) -> Exhibit:
    """A model from a file, in the pose nearest to that of the file."""
    model = load_model(path)
    start = model.assemble()
    launch = Launch(np.asarray(start.q0), np.asarray(start.v0), 0.0, t_end or DEFAULT_END, h or DEFAULT_STEP)
    code = (f"system = da.load_model({str(path.resolve())!r}).system()",)
    return system_exhibit(_key(path.stem), model.system(), launch, code, method)


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
    file, _, named = target.partition(".py:") if ".py:" in target else (target.removesuffix(".py"), "", "")
    path = pathlib.Path(file + ".py").resolve()
    return (
        "import dataclasses",
        "import importlib.util",
        "import sys",
        "",
        f"sys.path.insert(0, {str(path.parent)!r})",
        f"specification = importlib.util.spec_from_file_location({path.stem!r}, {str(path)!r})",
        "module = importlib.util.module_from_spec(specification)",
        f"sys.modules[{path.stem!r}] = module",
        "specification.loader.exec_module(module)",
        f"system = module.{named or type(system).__name__}",
        f"system = system({values}) if isinstance(system, type) else dataclasses.replace(system, {values})",
    )


def _value(value) -> str:
    """A parameter as Python reads it back."""
    return f"np.array({value.tolist()!r})" if np.ndim(value) else repr(value)
