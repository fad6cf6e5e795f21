"""The kinds of files a run is written to, by the suffix of their names.

    .nc        netCDF, everything; `da.load` reads it back without loss
    .zarr      a zarr group, everything; `da.load` reads it
    .npz       NumPy's archive of arrays, everything; `da.load` reads it
    .csv       a table with one row for each saved state, for other programs
    .parquet   the same table in columns; needs pyarrow

What `da.load` reads holds a digest of all its numbers, so that a file that was cut or changed is refused.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import pathlib
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from .files import arrays_of, checked_arrays, read_netcdf, write_netcdf
from .store_files import temporary_of

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

#: Kinds that hold everything, and kinds that hold a table.
WHOLE, TABLES = (".nc", ".zarr", ".npz"), (".csv", ".parquet")
SUFFIXES = (*WHOLE, *TABLES)
_DIGEST, _ATTRIBUTES = "digest", "__attributes__"


def check_suffix(path: pathlib.Path) -> str:
    """The suffix, if it is one of those that say how to write a run."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"cannot save to {path}: expected a name ending in {', '.join(SUFFIXES)}, got {suffix or 'no ending'}."
        )
    if suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"cannot save to {path}: .parquet needs pyarrow; install it with pip install pyarrow.")
    return suffix


def write(path: pathlib.Path, dataset: Callable[[], xr.Dataset], table: Callable[[], pd.DataFrame]) -> pathlib.Path:
    """Write a run so that the file is either whole or not there."""
    if path.is_dir() and not (path.suffix.lower() == ".zarr" and is_saved_group(path)):
        raise InputError(f"cannot save to {path}: it is a folder.")
    suffix = check_suffix(path)
    if not path.parent.is_dir():
        raise InputError(f"cannot save to {path}: the folder {path.parent} does not exist.")
    writer = {".nc": write_netcdf, ".zarr": _write_zarr, ".npz": _write_npz, ".csv": _write_csv}.get(
        suffix, _write_parquet
    )
    data, temporary = (table if suffix in TABLES else dataset)(), temporary_of(path)
    try:
        writer(data, temporary)
        if suffix == ".zarr":  # a folder takes the place of an empty name only
            _remove(path)
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"cannot save to {path}: {error.strerror or error}.") from error
    finally:
        _remove(temporary)
    return path


def read(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict, Any]:
    """Arrays, description and status of a run; `InputError` for anything that is not one."""
    if path.suffix.lower() in TABLES:
        raise InputError(
            f"cannot load {path}: a table is for other programs and holds no run. Save it as {', '.join(WHOLE)} to "
            "load it again."
        )
    if path.suffix.lower() == ".npz":
        return _read(path, _npz_entries)
    if path.is_dir():
        return _read(path, _zarr_entries)
    return read_netcdf(path)


def is_saved_group(path: pathlib.Path) -> bool:
    """Whether a folder is a run that `save` has written, not one with checkpoints."""
    try:
        attributes = json.loads((path / "zarr.json").read_text(encoding="utf-8"))["attributes"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return isinstance(attributes, dict) and {"dalembert", "status", _DIGEST} <= set(attributes)


def _remove(path: pathlib.Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


# -- everything --------------------------------------------------------------------------------------------------


def _digest(arrays: dict[str, np.ndarray], attributes: dict[str, str]) -> str:
    """The digest of all numbers and of what describes them."""
    found = hashlib.blake2b(digest_size=32)
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {values.dtype.str} {values.shape}".encode())
        found.update(values.tobytes())
    found.update(json.dumps({name: attributes[name] for name in ("dalembert", "status")}).encode())
    return found.hexdigest()


def _write_zarr(data: xr.Dataset, path: pathlib.Path) -> None:
    digest = _digest(arrays_of(data), data.attrs)
    labels = {name: data[name].astype(object) for name in data.coords if data[name].dtype.kind == "U"}
    whole = data.assign_attrs({_DIGEST: digest}).assign_coords(labels)  # texts of any length are zarr's own
    whole.to_zarr(path, mode="w", consolidated=False)


def _zarr_entries(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    import xarray as xr

    with xr.open_zarr(path, consolidated=False) as dataset:
        data = dataset.load()
    return arrays_of(data), data.attrs


def _write_npz(data: xr.Dataset, path: pathlib.Path) -> None:
    arrays = arrays_of(data)
    attributes = {**data.attrs, _DIGEST: _digest(arrays, data.attrs)}
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **{_ATTRIBUTES: np.array(json.dumps(attributes))}, **arrays)


def _npz_entries(path: pathlib.Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return arrays, json.loads(str(arrays.pop(_ATTRIBUTES)))


def _read(path: pathlib.Path, entries: Callable) -> tuple[dict[str, np.ndarray], dict, Any]:
    if not path.exists():
        raise InputError(f"cannot load {path}: no such file.")
    try:
        arrays, attributes = entries(path)
        if _digest(arrays, attributes) != attributes[_DIGEST]:
            raise ValueError("digest")
        return checked_arrays(arrays, attributes)
    except Exception as error:
        raise InputError(
            f"cannot load {path}: not a trajectory saved by dalembert, or it was cut or changed since "
            f"({type(error).__name__})."
        ) from error


# -- tables ------------------------------------------------------------------------------------------------------


def _write_csv(table: pd.DataFrame, path: pathlib.Path) -> None:
    table.to_csv(path, float_format="%.17g")


def _write_parquet(table: pd.DataFrame, path: pathlib.Path) -> None:
    table.to_parquet(path, engine="pyarrow")


def table_of(data: xr.Dataset, per_state: Callable[[str], bool]) -> pd.DataFrame:
    """One row for each saved state, one column for each number of it: energy, q_0 or q_x, ..."""
    import pandas as pd

    index = pd.MultiIndex.from_product([range(data.sizes["member"]), data["time"].values], names=["member", "time"]) \
        if "member" in data.dims else pd.Index(data["time"].values, name="time")  # fmt: skip
    leading = index.nlevels
    columns: dict[str, np.ndarray] = {}
    for name, variable in data.data_vars.items():
        if not per_state(str(name)) or variable.dims[:leading] != ("member", "time")[-leading:]:
            continue
        values = variable.values.reshape(len(index), -1)
        if variable.ndim == leading:
            columns[str(name)] = values[:, 0]
            continue
        dimension = variable.dims[leading] if variable.ndim == leading + 1 else None
        labels = data[dimension].values if dimension in data.coords else range(values.shape[1])
        columns |= {f"{name}_{label}": values[:, k] for k, label in enumerate(labels)}
    return pd.DataFrame(columns, index=index)
