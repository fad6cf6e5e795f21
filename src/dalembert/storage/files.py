"""Trajectories in netCDF files, through xarray: named dimensions, nothing lost, nothing executed.

Behind the netCDF data, where its readers do not look, lie a mark and the BLAKE2 digest of all bytes before them: a file
that was cut or changed is refused before the netCDF library, which trusts what it reads, sees it.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import urllib.parse
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..stepping import EVENT_PREFIX

if TYPE_CHECKING:
    import xarray as xr

MARK, DIGEST_BYTES = b"dalembert trajectory, BLAKE2 ", 32
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
_INVARIANT = "invariant_"


def _in_file(name: str) -> str:
    """A name as netCDF takes it: of an invariant it may be anything, such as "E/m"."""
    if not name.startswith(_INVARIANT):
        return _NAMES_IN_FILE.get(name, name)
    return _INVARIANT + urllib.parse.quote(name.removeprefix(_INVARIANT), safe=" ()[]*+-,=^|")


def _from_file(name: str) -> str:
    if name.startswith(_INVARIANT):
        return _INVARIANT + urllib.parse.unquote(name.removeprefix(_INVARIANT))
    return {in_file: ours for ours, in_file in _NAMES_IN_FILE.items()}.get(name, name)


def dataset_of(arrays: dict[str, Any], info: dict, status: dict | list, names: dict[str, list[str]]) -> xr.Dataset:
    """The arrays of one run, or of a batch of runs, as a dataset; everything else goes into its attributes as JSON.

    `names` are those of coordinates and constraints, by dimension. Times are the index `time`, and `t` as well.
    """
    import xarray as xr

    variables, batch = {}, np.ndim(arrays["q"]) == 3
    first = ("member",) if batch else ()
    for name, values in arrays.items():
        if name == "t":
            continue
        of_events = name.startswith(EVENT_PREFIX)  # those of all members lie in one row
        leading = () if of_events else first
        axes = range(np.ndim(values) - 1 - len(leading))
        extra = tuple(f"{_in_file(name).removeprefix(_INVARIANT)}_{axis}" for axis in axes)
        along = "event" if of_events else "time"
        variables[_in_file(name)] = (leading + _DIMENSIONS.get(name, (along, *extra)), values)
    times = np.asarray(arrays["t"])
    coordinates: dict[str, Any] = {"time": times[0] if batch else times, "t": ((*first, "time"), times)}
    for dimension, labels in names.items():
        coordinates[dimension] = list(labels)
    attributes = {"dalembert": json.dumps(info), "status": json.dumps(status)}
    return xr.Dataset(variables, coords=coordinates, attrs=attributes)


def arrays_of(data: xr.Dataset) -> dict[str, np.ndarray]:
    """The arrays of a dataset by the names that a run gives them."""
    found = {_from_file(str(key)): np.asarray(x.values) for key, x in data.data_vars.items()}
    return {"t": np.asarray(data["t"].values), **found}


def write_netcdf(data: xr.Dataset, path: pathlib.Path) -> None:
    """Write a dataset, and seal the file."""
    data.to_netcdf(path, engine="netcdf4")
    seal(path)


def seal(path: pathlib.Path) -> None:
    """Put the mark and the digest of a file at its end."""
    digest = _digest(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(MARK + digest)


def _is_sealed(path: pathlib.Path) -> bool:
    size = path.stat().st_size - len(MARK) - DIGEST_BYTES
    if size <= 0:
        return False
    with path.open("rb") as file:
        file.seek(size)
        end = file.read()
    return end == MARK + _digest(path, size)


def _digest(path: pathlib.Path, size: int) -> bytes:
    """The digest of the first `size` bytes."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    with path.open("rb") as file:
        while size > 0 and (piece := file.read(min(size, 1 << 20))):
            found.update(piece)
            size -= len(piece)
    return found.digest()


def read_netcdf(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict, Any]:
    """Arrays, description and status of a run; `InputError` for anything that is not one."""
    import xarray as xr

    if not path.is_file():
        raise InputError(f"cannot load {path}: {'it is a folder' if path.is_dir() else 'no such file'}.")
    try:
        sealed = _is_sealed(path)
    except OSError as error:
        raise InputError(f"cannot load {path}: {error.strerror or error}.") from error
    if not sealed:
        raise InputError(
            f"cannot load {path}: not a trajectory saved by dalembert, or it was cut or changed since (its digest is "
            "not that of its bytes)."
        )
    try:
        with xr.open_dataset(path, engine="netcdf4") as dataset:
            data = dataset.load()
        return checked_arrays(arrays_of(data), data.attrs)
    except Exception as error:
        raise InputError(
            f"cannot load {path}: not a trajectory saved by dalembert ({type(error).__name__})."
        ) from error


def checked_arrays(arrays: dict[str, np.ndarray], attributes: Any) -> tuple[dict[str, np.ndarray], dict, Any]:
    """Arrays, description and status, if they are those of a run or of a batch of runs."""
    info, status = json.loads(attributes["dalembert"]), json.loads(attributes["status"])
    optional = {"iterations", "worst_iterations", "raw_psi", "psi", "energy"}  # not every run has them
    if np.ndim(arrays["q"]) == 3:
        optional |= set(_DIMENSIONS) - {"q", "v", "p"}
        status = np.asarray(status, dtype=np.int64)
    missing = set(_DIMENSIONS) - optional - set(arrays)
    if missing:
        raise KeyError(", ".join(sorted(missing)))
    _check(arrays, info, status)
    info["rows"] = None if info["rows"] is None else tuple(int(row) for row in info["rows"])
    return arrays, info, status


def _check(arrays: dict[str, np.ndarray], info: dict, status: Any) -> None:
    """Raise where the description and the arrays of a file are not those of one run."""
    kinds = {"code": int, "step": int, "time": int | float, "message": str}
    if isinstance(status, np.ndarray):
        if status.shape != arrays["q"].shape[:1]:
            raise ValueError("status")
    elif set(status) != set(kinds) or not all(isinstance(status[name], kind) for name, kind in kinds.items()):
        raise TypeError("status")
    if not all(isinstance(info[name], str) for name in ("system", "method", "multiplier")):
        raise TypeError("system, method or multiplier")
    if not (isinstance(info.get("order", 2), int) and isinstance(info.get("smooth", True), bool)):
        raise TypeError("order or smooth")
    said = info.get("warnings", [])
    if not isinstance(said, list) or not all(isinstance(text, str) for text in said):
        raise TypeError("warnings")
    if not isinstance(info["stats"], dict) or not np.all(np.isfinite(np.asarray(info["h"], dtype=np.float64))):
        raise TypeError("stats or h")
    states = arrays["q"].shape
    for name in ("t", "q", "v", "p"):
        if arrays[name].shape != (states if name != "t" else states[:-1]) or arrays[name].dtype != np.float64:
            raise ValueError(f"shape of {name}")
        if not np.all(np.isfinite(arrays[name])):
            raise ValueError(f"{name} is not finite")
    if len(states) not in (2, 3) or not all(states):
        raise ValueError("shape of q")
