"""Trajectories in netCDF files, through xarray: named dimensions, nothing lost, nothing executed."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from ..errors import InputError
from ..stepping import EVENT_PREFIX

_DIMENSIONS = {
    "q": ("time", "coordinate"),
    "v": ("time", "coordinate"),
    "p": ("time", "coordinate"),
    "lam": ("time", "constraint"),
    "psi": ("time", "nonholonomic_constraint"),
    "energy": ("time",),
    "constraint": ("time",),
    "hidden": ("time",),
    "raw_lam": ("time", "discrete_constraint"),
    "raw_psi": ("time", "nonholonomic_constraint"),
    "iterations": ("interval",),
    "worst_iterations": ("interval",),
}
#: a variable may not have the name of a dimension
_NAMES_IN_FILE = {"constraint": "constraint_violation", "hidden": "hidden_violation"}


def dataset_of(arrays: dict[str, Any], info: dict, status: dict) -> xr.Dataset:
    """The arrays of one run as a dataset; everything else goes into its attributes as JSON."""
    variables = {}
    for name, values in arrays.items():
        if name == "t":
            continue
        extra = tuple(f"{name.removeprefix('invariant_')}_{axis}" for axis in range(np.ndim(values) - 1))
        along = "event" if name.startswith(EVENT_PREFIX) else "time"
        variables[_NAMES_IN_FILE.get(name, name)] = (_DIMENSIONS.get(name, (along, *extra)), values)
    attributes = {"dalembert": json.dumps(info), "status": json.dumps(status)}
    return xr.Dataset(variables, coords={"t": ("time", arrays["t"])}, attrs=attributes)


def write(make: Callable[[], xr.Dataset], path: pathlib.Path) -> pathlib.Path:
    """Write a dataset so that the file is either whole or not there."""
    if not path.parent.is_dir():
        raise InputError(f"cannot save to {path}: the folder {path.parent} does not exist.")
    if path.is_dir():
        raise InputError(f"cannot save to {path}: it is a folder.")
    data, temporary = make(), path.with_name(path.name + ".part")
    try:
        data.to_netcdf(temporary, engine="netcdf4")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"cannot save to {path}: {error.strerror or error}.") from error
    return path


def read(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict, dict]:
    """Arrays, description and status of a run; `InputError` for anything that is not one."""
    if not path.is_file():
        raise InputError(f"cannot load {path}: {'it is a folder' if path.is_dir() else 'no such file'}.")
    try:
        with xr.open_dataset(path, engine="netcdf4") as dataset:
            data = dataset.load()
        info, status = json.loads(data.attrs["dalembert"]), json.loads(data.attrs["status"])
        names = {in_file: name for name, in_file in _NAMES_IN_FILE.items()}
        arrays = {names.get(str(key), str(key)): np.asarray(x.values) for key, x in data.data_vars.items()}
        arrays["t"] = np.asarray(data["t"].values)
        optional = {"worst_iterations", "raw_psi", "psi", "energy"}  # not every run has them
        missing = set(_DIMENSIONS) - optional - set(arrays)
        if missing or set(status) != {"code", "step", "time", "message"}:
            raise KeyError(", ".join(sorted(missing)))
        if info["rows"] is not None:
            info["rows"] = tuple(info["rows"])
        return arrays, info, status
    except Exception as error:
        raise InputError(
            f"cannot load {path}: not a trajectory saved by dalembert ({type(error).__name__})."
        ) from error
