"""`dalembert resume`: go on with a run that was written with checkpoints.

The store names the system; it is data, so it never makes a file run. A system of the gallery is found by its name, a
model file has to be named by the user.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..errors import InputError, StepFailure
from ..gallery import SYSTEMS
from ..method import METHODS, Method
from ..problem import AbstractSystem
from ..simulation import simulate
from ..storage import Store
from . import show
from .models import found_in_file, method_from
from .simulating import check_targets, tell


def resume_command(
    store: Annotated[Path, typer.Argument(help="The folder that `simulate(..., checkpoint=...)` writes to.")],
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE.py:CLASS]",
            help="The model, for a system that is not in the gallery. The file is executed with your rights.",
        ),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Take a step that fails in halves.")] = False,
    progress: Annotated[bool, typer.Option("--progress", help="Show a progress bar.")] = False,
    method: Annotated[
        str,
        typer.Option("--method", "-m", help="The method, methods.py:Class, for one that is not in `dalembert list`."),
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", help="Save the run (.nc, .zarr, .npz; as a table: .csv, .parquet).")
    ] = None,
    as_json: show.Json = False,
) -> None:
    """Go on with a run that was interrupted, and say what was kept."""
    description = Store.open(store).description
    call, parameters = description.get("call"), _parameters(description)
    if not isinstance(call, dict):
        raise InputError(f"{store} does not hold the call that began it; repeat that call in Python to go on.")
    try:
        system, chosen = _system(store, call, parameters, model), _method(store, call, method)
        arguments = {name: call[name] for name in ("q0", "v0", "p0", "h", "save_every", "project", "redundant")}
        arguments |= {name: call[name] for name in ("compensated", "engine")} | {"t": tuple(call["t"])}
    except KeyError as missing:
        raise InputError(
            f"{store} does not say with which {missing} it was begun; repeat the call in Python."
        ) from None
    check_targets(out, None, None)
    run = simulate(system, chosen, **arguments, checkpoint=store, retry=retry, progress=progress, on_failure="return")
    tell(run, type(system).__name__, chosen.name, {} if out is None else {"run": run.save(out)}, as_json)
    if not run.status:
        raise StepFailure(run.status.message, run)


def _parameters(description: dict[str, Any]) -> dict[str, Any]:
    run = description.get("run")
    parameters = run.get("parameters") if isinstance(run, dict) else None
    return parameters if isinstance(parameters, dict) else {}


def _system(store: Path, call: dict[str, Any], parameters: dict[str, Any], model: str | None) -> AbstractSystem:
    found: Any
    if model is not None:
        found = found_in_file(model)
    else:
        by_class = {f"{kind.__module__}:{kind.__qualname__}": kind for kind in SYSTEMS.values()}
        found = by_class.get(str(call["system"]))
    if found is None:
        name = str(call["system"]).rpartition(":")[2]
        raise InputError(
            f"{store} was begun with {name} of {call['file']}, which is not in the gallery. Name the file to have "
            f"it executed, dalembert resume {store} path/to/model.py:{name}, or repeat the call in Python."
        )
    kind = found if isinstance(found, type) else type(found)
    fields = {field.name for field in dataclasses.fields(kind) if field.init}
    # what is not a number was written as text for people: the system brings its own, and is compared with the store
    values = {
        name: np.array(value, dtype=float) if isinstance(value, list) else value
        for name, value in parameters.items()
        if name in fields and isinstance(value, bool | int | float | list)
    }
    try:
        return found(**values) if isinstance(found, type) else dataclasses.replace(found, **values)
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot create {kind.__name__} with the parameters of {store}: {error}") from error


def _method(store: Path, call: dict[str, Any], name: str) -> Method:
    if name:
        found = method_from(name)
        if found.name != call["method"]:
            raise InputError(f"{store} was begun with {call['method']}, not with {found.name}.")
        return found
    for entry in METHODS.values():
        if entry.method.name == call["method"]:
            return entry.method
    raise InputError(f"{store} was begun with {call['method']}, which is not in `dalembert list`: name it with "
                     "--method methods.py:Class, or repeat the call in Python.")  # fmt: skip
