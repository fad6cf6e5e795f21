"""Trajectories in a store: arrays are read from disk when they are asked for, so that memory stays flat."""

from __future__ import annotations

import inspect
import json
import pathlib
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import InputError
from ..method import Method
from ..problem import AbstractSystem
from ..stepping import Status, ended
from ..stepping.event_run import KIND as EVENTS
from .store import Store, StoredStates
from .store_files import Damaged, envelope, opened, read_json, to_json, write_whole

#: Arrays up to this size stay in memory once they were read; larger ones only as long as somebody holds them.
KEPT_BYTES = 64 << 20
#: What is said about a finished run; a file of its own, since the equations that tell it are not in the store.
WARNINGS = "warnings.json"


def call_of(system: AbstractSystem, method: Method, q0, v0, options: dict[str, Any]) -> dict[str, Any] | None:
    """The call that begins a run, for `dalembert resume`; None if it is not made of numbers and names."""
    try:
        numbers = {
            name: None if value is None else np.asarray(value, dtype=np.float64).tolist()
            for name, value in (("q0", q0), ("v0", v0), ("p0", options["p0"]))
        }
        source = inspect.getsourcefile(type(system))
        call = {
            "system": f"{type(system).__module__}:{type(system).__qualname__}",
            "file": None if source is None else str(pathlib.Path(source).resolve()),
            "method": method.name,
            **numbers,
            "t": [float(x) for x in options["t"]],
            "h": float(options["h"]),
            **{name: options[name] for name in ("project", "redundant", "compensated", "engine")},
            "save_every": int(options["save_every"]),
        }
        json.dumps(call, allow_nan=False)
    except (TypeError, ValueError, OverflowError, OSError):  # a run of other things: it goes on by the same call only
        return None
    return call


class StoredArrays(Mapping[str, Any]):
    """The arrays of a store by name."""

    def __init__(self, stored: StoredStates, beside: Mapping[str, np.ndarray] | None = None) -> None:
        """`beside` are arrays that are no rows, such as the events of the run."""
        self._store, self._states = stored
        self._beside = dict(beside or {})
        self._kept: dict[str, np.ndarray] = {}
        self._seen: weakref.WeakValueDictionary[str, np.ndarray] = weakref.WeakValueDictionary()

    def __getitem__(self, name: str) -> np.ndarray:
        if name in self._beside:
            return self._beside[name]
        if name not in self._store.columns:
            raise KeyError(name)
        found = self._seen.get(name)
        if found is not None:
            return found
        try:
            values = self._store.read(name, self._states)
        except Damaged as error:
            raise InputError(f"cannot read {name} from {self._store.path}: {error}.") from error
        values.flags.writeable = False
        self._seen[name] = values
        if values.nbytes <= KEPT_BYTES:
            self._kept[name] = values
        return values

    @property
    def positions(self) -> int:
        """How many numbers all positions are."""
        return self._states * int(np.prod(self._store.columns["q"].shape))

    def note(self, warnings: tuple[str, ...]) -> None:
        """Keep what is said about the finished run beside its numbers."""
        write_whole({self._store.path / WARNINGS: to_json(envelope({"warnings": list(warnings)}))})

    def __iter__(self) -> Iterator[str]:
        return iter([*self._store.columns, *self._beside])

    def __len__(self) -> int:
        return len(self._store.columns) + len(self._beside)


def _noted(path: pathlib.Path) -> dict[str, list[str]]:
    """The warnings beside a finished run; nothing where there are none, or none that can be trusted."""
    try:
        return {"warnings": [str(text) for text in opened(read_json(path / WARNINGS))["warnings"]]}
    except (Damaged, KeyError, TypeError):
        return {}


def _beside(condition: Any) -> dict[str, np.ndarray]:
    """What a run of event capturing has noted."""
    if not isinstance(condition, dict) or condition.get("kind") != EVENTS:
        return {}
    return {name: np.asarray(values) for part in ("events", "modes") for name, values in condition[part].items()}


def read_store(path: pathlib.Path) -> tuple[StoredArrays, dict[str, Any], Status]:
    """Arrays, description and status of what is valid in a store; `InputError` for anything that is not one."""
    store = Store.open(path)
    last = store.last()
    if last is None:
        raise InputError(
            f"cannot load {path}: it is damaged from the start on; the call that began it begins it again."
        )
    try:
        info, body = dict(store.description["info"]), last.body
        rows = info["rows"]
        if not all(isinstance(info[name], str) for name in ("system", "method", "multiplier")):
            raise TypeError
        info["rows"] = None if rows is None else tuple(int(row) for row in rows)
        info["stats"] = {**body["stats"], "versions": store.description["run"]["versions"]}
        h, t0, steps, code = float(info["h"]), float(info["t0"]), int(info["steps"]), int(body["status"])
        arrays = StoredArrays(StoredStates(store, last.states), _beside(body["condition"]))
        if code == 0 and last.step < steps:
            message = f"not at its end: {last.step} of {steps} steps are in the store"
            status = Status(-1, last.step, t0 + last.step * h, message)
            return arrays, info, status
        info |= _noted(path)
        residual = np.nan if body["residual"] is None else float(body["residual"])
        status = ended(code, last.step, t0 + last.step * h, h, residual, int(body["halved"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"cannot load {path}: its description is damaged ({type(error).__name__}).") from error
    return arrays, info, status
