"""Checkpoints: a run that is written to a store while it is computed, and that goes on from there.

The loop over steps fills a `StoredRecord` instead of one in memory. At every multiple of `checkpoint_every` steps, and
where the run ends for whatever reason, the rows since the last time and the whole carry go to disk, while the next
steps are computed. What is lost when the process dies is what came after the last checkpoint on disk; it is computed
again, from the same carry, in the same chunks, by steps compiled with the same pivots: bit for bit.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from ..arguments import check_writable, count
from ..arguments import path as checked_path
from ..engine import OK, Carry, Chunk
from ..errors import CheckpointFailure, InputError
from ..stepping.loop import Origin, Plan, Record
from ..stepping.step import Layout
from .identity import differences, identity_of
from .store import LOCK, Column, Store, StoredStates
from .store import Checkpoint as Link
from .store_files import Damaged
from .stored_values import check_carry, check_condition, check_counts, check_state

try:
    import fcntl
except ImportError:  # Windows has no locks that end with the process
    fcntl = None

#: Chunks of the native engine, a tenth of a second each, between two checkpoints; those of the others take longer.
NATIVE_CHUNKS, OTHER_CHUNKS = 50, 2
#: Numbers in the rows between two checkpoints by default, and in the rows of one file: memory stays flat.
MOST_NUMBERS = 1_000_000


@dataclass(frozen=True)
class Request:
    """Where a run is to be kept, how often (None: by default), and the call that began it, for `dalembert resume`."""

    path: pathlib.Path
    every: int | None
    call: dict[str, Any] | None

    def limit(self) -> int | None:
        """The number of steps between checkpoints that the call asks for; what the store was begun with otherwise."""
        if self.every is not None:
            return count("checkpoint_every", self.every)
        if not is_store(self.path):
            return None
        asked = Store.open(self.path).description.get("asked_every")
        return asked if isinstance(asked, int) and asked > 0 else None

    def record(self, plan: Plan, runner: Any, carry: Carry, about: Origin) -> Record:
        """The record of the run in its store."""
        return stored_record(self, plan, runner, carry, about)


def request_of(path, every, call: dict[str, Any] | None) -> Request:
    """A checked request."""
    path = checked_path(path, "cannot write checkpoints to")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.parent} does not exist.")
    if path.exists() and not path.is_dir():
        raise InputError(f"cannot write {path}: it is a file, a store is a folder.")
    check_writable(path if path.exists() else path.parent, f"cannot write {path}")
    return Request(path, every, call)


def is_store(path: pathlib.Path) -> bool:
    """Whether there is something at a path that has to be a store."""
    return path.is_dir() and any(path.iterdir())


def steps_between(plan: Plan, n_state: int, engine: str, limit: int | None) -> int:
    """Steps between checkpoints: whole chunks, so that checkpoints do not change the run."""
    if limit is not None:
        return plan.chunk_steps * max(1, round(limit / plan.chunk_steps))
    numbers = n_state * max(1, plan.chunk_steps // plan.save_every)
    chunks = NATIVE_CHUNKS if engine == "native" else OTHER_CHUNKS
    return plan.chunk_steps * max(1, min(chunks, MOST_NUMBERS // numbers))


def columns_of(layout: Layout) -> list[Column]:
    """The arrays of a store; those without entries are left out, as in every file."""
    impulses = (layout.contacts, layout.directions) if layout.directions > 1 else (layout.contacts,)
    columns = [
        Column("t", ("time",), ()),
        Column("q", ("time", "coordinate"), (layout.n,)),
        Column("v", ("time", "coordinate"), (layout.n,)),
        Column("p", ("time", "coordinate"), (layout.n,)),
        Column("raw_lam", ("time", "discrete_constraint"), (layout.m,)),
        Column("raw_psi", ("time", "nonholonomic_constraint"), (layout.k,)),
        Column("impulse", ("time", "contact", "direction")[: 1 + len(impulses)], impulses),
        Column("iterations", ("interval",), (), "int64"),
        Column("worst_iterations", ("interval",), (), "int64"),
    ]
    return [column for column in columns if all(column.shape)]


@dataclass(frozen=True)
class _Written:
    """The last checkpoint on disk."""

    step: int
    status: int
    states: int
    previous: int | None
    digests: dict[str, dict[str, str]]


class _Came(NamedTuple):
    """What came since the last checkpoint."""

    states: list[np.ndarray]
    iterations: np.ndarray
    worst: np.ndarray


class StoredRecord(Record):
    """A record whose rows go to disk."""

    def __init__(
        self, request: Request, plan: Plan, runner: Any, carry: Carry, layout: Layout, identity: dict[str, Any],
        info: dict[str, Any],
    ) -> None:  # fmt: skip
        super().__init__(plan, carry)
        self._runner, self._layout = runner, layout
        self._asked = request.limit()
        self._every = steps_between(plan, layout.n_state, runner.name, self._asked)
        identity = {**identity, "steps of a chunk": plan.chunk_steps, "checkpoint_every": self._every}
        self._seconds, self._states = 0.0, 0
        self._open: dict[str, tuple[int, np.ndarray]] = {}  # rows of files that are not full, by the file's number
        self._written: _Written | None = None
        self._superseded: int | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._pending: Future[tuple[_Written, int | None]] | None = None
        self._lock: int | None = None
        try:
            if is_store(request.path):
                self.store = Store.open(request.path)
                self._lock = _locked(request.path)
                self._resume(identity)
            else:
                self.store = self._begun_store(request, {"run": identity, "info": info, "call": request.call})
                self._lock = _locked(request.path)
        except OSError as error:
            raise _failure(request.path, 0, error) from error
        except BaseException:
            self.close()
            raise

    @property
    def stored(self) -> StoredStates:
        return StoredStates(self.store, self._states)

    @property
    def seconds(self) -> float:
        """With what it took before it was interrupted."""
        return self._seconds + super().seconds

    # -- beginning and going on --------------------------------------------------------------------------------

    def _begun_store(self, request: Request, description: dict[str, Any]) -> Store:
        states = self.plan.steps // self.plan.save_every + 1
        rows = min(self._every // self.plan.save_every, MOST_NUMBERS // self._layout.n_state, states)
        self.store = Store.prepared(
            request.path, {**description, "asked_every": self._asked}, columns_of(self._layout), max(1, rows), states
        )
        try:
            self._begin()
            self.store.publish(request.path)
        except BaseException:
            self.store.discard()
            raise
        return self.store

    def _begin(self) -> None:
        self._open = {name: (0, np.zeros((0, *c.shape), c.kind)) for name, c in self.store.columns.items()}
        self._commit()
        self._settle()

    def _resume(self, identity: dict[str, Any]) -> None:
        store, path = self.store, self.store.path
        stored = store.description.get("run")
        found = differences(stored, identity) if isinstance(stored, dict) else ["its description is not one of a run"]
        if found:
            raise InputError(
                f"{path} holds another run: {'; '.join(found)}. Use another path, or the same arguments; "
                "da.load reads what the store holds."
            )
        last = store.last()
        store.forget_after(-1 if last is None else last.step)
        if last is None:  # not even the start is intact: begin again, it is the same run
            self._begin()
            return
        try:
            self._take_over(last)
        except (Damaged, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"cannot go on from {path}: its checkpoint after {last.step} steps is damaged.") from error
        store.show(last.states)

    def _take_over(self, last: Link) -> None:
        body = last.body
        size, constraints = np.size(self.carry.state), self._layout.m
        check_condition(body["condition"], self._runner.condition, self.plan, size, constraints)
        self._runner.restore(body["condition"], self.plan.parameters)
        carry, fresh = Carry(**body["carry"]), self._runner.first_carry(np.asarray(self.carry.state))
        check_carry(carry, fresh, last.step, body["status"] != OK)
        if last.step % self.plan.save_every == 0:
            check_state(self._layout.unflatten(carry.state), self.store, last.states)
        check_counts(body, self.plan, last)
        self.carry, self.saved, self.status = carry, [], int(body["status"])
        self.residual = np.nan if body["residual"] is None else float(body["residual"])
        self.halved, self._seconds = int(body["halved"]), float(body["stats"]["wall_seconds"])
        for counts, name in ((self.iterations, "iterations"), (self.worst, "worst")):
            counts.total, counts.open = int(body[name]["total"]), [int(n) for n in body[name]["open"]]
        self._states = last.states
        self._written = _Written(last.step, self.status, last.states, body["previous"], body["digests"])
        self._open = {name: self.store.open_rows(name, last.states) for name in self.store.columns}

    # -- writing -----------------------------------------------------------------------------------------------

    def begin_chunk(self, runner: Any) -> Callable[[], None]:
        return runner.way_back()

    def takes(self, chunk: Chunk, steps: int) -> bool:
        """Only whole ones: a run that goes on later is divided like one that was never interrupted."""
        return int(chunk.carry.step) == self.step + steps

    def chunk_ended(self) -> None:
        if self.step % self._every == 0:
            self._commit()

    def run_ended(self) -> None:
        self._settle()
        if self._written is None or (self._written.step, self._written.status) != (self.step, self.status):
            self._commit()
            self._settle()

    def close(self) -> None:
        """Let another process write to the store."""
        self._writer.shutdown(wait=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _commit(self) -> None:
        """Hand over what came since the last checkpoint. It is written while the next chunks are computed: the disk has
        as long as the processor before either waits for the other."""
        self._settle()
        before, first = self._written, self._states
        came = _Came(self.saved, self.iterations.drain(), self.worst.drain())
        self.saved, self._states = [], first + sum(map(len, came.states))
        # a checkpoint without new states inherits the digests of the one before and takes its place in the chain
        instead = before is not None and before.states == self._states
        previous = None if before is None else before.previous if instead else before.step
        new = _Written(self.step, self.status, self._states, previous, before.digests if instead and before else {})
        self._pending = self._writer.submit(self._write, new, first, came, self._body(), before if instead else None)

    def _write(
        self, new: _Written, first: int, came: _Came, body: dict[str, Any], replaced: _Written | None
    ) -> tuple[_Written, int | None]:
        """The checkpoint on disk, and the step of the one that it makes dispensable. Works beside the run, of which it
        touches nothing but the rows of files that are not full."""
        rows = self._rows(first, came)
        digests = self.store.commit(new.step, new.states, new.previous, rows, body, new.digests)
        for name, (number, values) in rows.items():
            full = len(values) // self.store.chunk_rows
            self._open[name] = (number + full, values[full * self.store.chunk_rows :])
        superseded = self._superseded if replaced is not None else None
        if replaced is not None and replaced.step != new.step:
            if superseded is not None:  # the last two are kept, in case one of them is damaged
                self.store.forget(superseded)
            superseded = replaced.step
        return replace(new, digests=digests), superseded

    def _settle(self) -> None:
        """Wait until what was handed over is on disk."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        try:
            self._written, self._superseded = pending.result()
        except OSError as error:
            raise _failure(self.store.path, 0 if self._written is None else self._written.step, error) from error

    def _rows(self, first: int, came: _Came) -> dict[str, tuple[int, np.ndarray]]:
        """The rows since the last checkpoint, the first of them that of state `first`, together with those of the files
        that they go on filling."""
        plan = self.plan
        states = np.concatenate([np.zeros((0, self._layout.n_state)), *came.states])
        parts = self._layout.unflatten(states)
        new = {
            "t": plan.t0 + plan.h * (plan.save_every * (first + np.arange(len(states)))),
            "q": parts.q,
            "v": parts.v,
            "p": parts.p,
            "raw_lam": parts.lam,
            "raw_psi": parts.psi,
            "impulse": parts.impulse,
            "iterations": came.iterations,
            "worst_iterations": came.worst,
        }
        return {
            name: (number, np.concatenate([part, np.asarray(new[name]).reshape(-1, *part.shape[1:])]))
            for name, (number, part) in self._open.items()
        }

    def _body(self) -> dict[str, Any]:
        """All of the run that is not rows."""
        return {
            "carry": jax.tree.map(np.asarray, self.carry)._asdict(),
            "condition": self._runner.condition,
            "iterations": {"total": self.iterations.total, "open": list(self.iterations.open)},
            "worst": {"total": self.worst.total, "open": list(self.worst.open)},
            "status": int(self.status),
            "residual": float(self.residual) if np.isfinite(self.residual) else None,
            "halved": self.halved,
            "stats": {
                "engine": self._runner.name,
                "steps": self.step,
                "wall_seconds": self.seconds,
                "newton_iterations": self.iterations.total,
                **({"halved_steps": self.halved} if self.halved else {}),
            },
        }


def stored_record(request: Request, plan: Plan, runner: Any, carry: Carry, about: Origin) -> StoredRecord:
    """The record of a run in a new store, or in the store of the same run, which goes on where it was left."""
    settings = {
        "t": [plan.t0, plan.t0 + plan.steps * plan.h],
        "h": plan.h,
        "steps": plan.steps,
        "save_every": plan.save_every,
        "compensated": about.compensated,
        "engine": runner.name,
    }
    system, method, functions, rows = about.system, about.method, about.functions, about.rows
    identity = identity_of(system, method, functions, np.asarray(carry.state), rows, settings)
    info = {
        "system": type(system).__name__,
        "method": method.name,
        "multiplier": method.multiplier,
        "order": method.order,
        "smooth": method.smooth and not about.layout.contacts,
        "rows": identity["independent constraints"],
        "h": plan.h,
        "t0": plan.t0,
        "steps": plan.steps,
        "parameters": identity["parameters"],
    }
    return StoredRecord(request, plan, runner, carry, about.layout, identity, info)


def _locked(path: pathlib.Path) -> int | None:
    """A lock that ends with the process; `InputError` if another process writes to the store."""
    if fcntl is None:
        return None
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise InputError(f"another run is writing to {path}; wait until it has ended, or use another path.") from None
    return descriptor


def _failure(path: pathlib.Path, step: int, error: OSError) -> CheckpointFailure:
    return CheckpointFailure(
        f"cannot write to {path}: {error.strerror or error}. The store is intact up to step {step}; mend the cause and "
        "repeat the call to go on from there."
    )
