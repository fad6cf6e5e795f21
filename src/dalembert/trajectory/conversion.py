"""A run as a dataset of xarray, as a table of pandas, and in files."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import path as checked_path
from ..errors import InputError
from ..problem import OverdeterminedDAE
from ..stepping import EVENT_PREFIX, is_traced
from ..storage.files import dataset_of
from ..storage.formats import table_of, write
from .attached import Attached

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_RECORDED = ("raw_lam", "raw_psi", "iterations", "worst_iterations", "impulse", "u", "costate", "tangent")
#: What a table leaves out: the method's own multipliers.
_OWN = ("raw_lam", "raw_psi")


class Converted(Attached):
    """What leaves the library: datasets, tables, files."""

    if TYPE_CHECKING:
        _arrays: Any
        _info: dict[str, Any]
        _status: Any
        q: Any
        system: Any
        status: Any
        provenance: Any
        warnings: Any
        invariants: Any

    def to_xarray(self) -> xr.Dataset:
        """All arrays with named dimensions: time, coordinate, constraint; member, for a batch. Units are the user's.

        `time` is an index: `run.to_xarray().sel(time=0.5)`. Coordinates and constraints have the names that the system
        gives them (`System.names`).
        """
        if is_traced(self._arrays["t"], self._arrays["q"]):
            raise InputError("a traced trajectory has no numbers yet; save or convert it outside jit, vmap and grad.")
        if self.q.dtype != np.float64:
            raise InputError(
                "files hold float64; a run in extended precision cannot be saved or converted without loss."
            )
        arrays = {name: self._arrays[name] for name in _RECORDED if name in self._arrays}
        arrays |= {name: values for name, values in self._arrays.items() if name.startswith(EVENT_PREFIX)}
        names = ["t", "q", "v", "p", "lam", "constraint", "hidden"]
        names += [] if isinstance(self.system, OverdeterminedDAE) else ["psi", "energy"]
        info = {**self._info, "parameters": self.provenance["parameters"]}
        if np.ndim(self.q) == 3:
            return self._batch_dataset(names, arrays, info)
        arrays |= {name: getattr(self, name) for name in names}
        arrays |= {f"invariant_{name}": values for name, values in self.invariants.items()}
        arrays |= {f"sensor_{name}": values for name, values in self._recorded_sensors().items()}
        info["warnings"] = self.warnings
        status = {"code": self.status.code, "step": self.status.step, "time": self.status.time}
        return dataset_of(arrays, info, status | {"message": self.status.message}, self._dimension_names(arrays))

    def _recorded_sensors(self) -> dict[str, Any]:
        """What sensors say, of a run of a system that has some."""
        has_none = self.system is not None and self.system.provides("gap")
        return {} if has_none else self.sensors

    def _batch_dataset(self, names: list[str], arrays: dict[str, Any], info: dict[str, Any]) -> xr.Dataset:
        """All runs of a batch; derived quantities where they can be asked for of all runs at once."""
        arrays = {
            name: values
            for name, values in arrays.items()
            if name in _OWN or name == "impulse" or name.startswith(EVENT_PREFIX)
        }
        for name in names:
            try:
                arrays[name] = getattr(self, name)
            except InputError:
                continue
        arrays = {name: np.asarray(values) for name, values in arrays.items()}
        if not np.all(arrays["t"] == arrays["t"][0]):
            raise InputError("the runs of this batch have different times; save or convert run.member(k) of each.")
        codes = [int(code) for code in np.asarray(self._status)]
        return dataset_of(arrays, info, codes, self._dimension_names(arrays))

    def _dimension_names(self, arrays: dict[str, Any]) -> dict[str, list[str]]:
        """The names that fit: rows that were left out as dependent have none."""
        given = self._info.get("names") or {}
        dimensions = {"coordinate": ("coordinate", "q"), "holonomic": ("constraint", "lam"),
                      "nonholonomic": ("nonholonomic_constraint", "psi")}  # fmt: skip
        found = {}
        for kind, labels in given.items():
            dimension, name = dimensions[kind]
            if name in arrays and np.shape(arrays[name])[-1] == len(labels):
                found[dimension] = labels
        return found

    def to_pandas(self) -> pd.DataFrame:
        """A table with one row for each saved state, indexed by `time` (by `member` and `time` for a batch).

        Columns are energy, constraint, hidden, q_0, q_1, ..., or q_x, q_y where the system names its coordinates.
        """
        own = {*_OWN, "iterations", "worst_iterations"}
        return table_of(self.to_xarray(), lambda name: name not in own and not name.startswith(EVENT_PREFIX))

    def save(self, path) -> pathlib.Path:
        """Write the run; the suffix says how.

        `.nc` (netCDF), `.zarr` and `.npz` hold everything, and `da.load` reads them back without loss. `.csv` and
        `.parquet` hold the table of `to_pandas`, for other programs.
        """
        return write(checked_path(path, "cannot save to"), self.to_xarray, self.to_pandas)
