"""`sweep`: many trajectories over a grid of parameters and starting values, on the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import itertools
import logging
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import arguments
from ..arguments import choice, count, flag, floats, instance, interval, positive, shown, takes_named
from ..errors import InputError
from ..method import Method
from ..notebook import TextBar, needs_text_bar
from ..problem import AbstractSystem, parameter_record, prepared
from ..problem.contact import RANGES
from ..problem.starting import WithStart
from ..stepping import assemble, member
from ..stepping.consistent import prepare_start
from ..stepping.options import checked, checked_save_every
from ..stepping.step_sizes import equal_steps
from ..storage.identity import fingerprint
from ..storage.sweep_store import SweepColumn, SweepStore
from ..storage.versions import versions
from .sweep_pieces import Done, Job, Rows, compute_piece

#: Trajectories of one piece: enough to fill the vector lanes of some cores, few enough to lose little with a worker.
PIECE = 256
#: A piece that was lost with its worker, or that failed for reasons of the machine, is computed again so often.
RETRIES = 2
STARTS = ("q0", "v0", "p0")
VARIABLES = ("q", "v", "p", "energy", "constraint", "hidden")


@dataclass(frozen=True)
class Sweep:
    """A finished sweep. `computed` and `skipped` count pieces: those of this call, and those that were there already;
    `failed` counts trajectories of this call whose status is not 0."""

    store: pathlib.Path
    trajectories: int
    pieces: int
    computed: int
    skipped: int
    failed: int

    @property
    def dataset(self):
        """All trajectories as one `xarray.Dataset`; numbers are read when they are asked for."""
        import xarray

        return xarray.open_zarr(self.store, chunks=None)


@dataclass(frozen=True)
class _Points:
    """All trajectories of the grid, in order."""

    labels: dict[str, np.ndarray]  # values of the grid, or numbers of rows where a value is a vector
    rows: Rows
    second_name: str

    def __len__(self) -> int:
        return len(self.rows.q0)

    def part(self, where: slice) -> Rows:
        return Rows(
            {name: values[where] for name, values in self.rows.parameters.items()},
            self.rows.q0[where], self.rows.second[where],
        )  # fmt: skip


def sweep(
    system: AbstractSystem,
    method: Method,
    grid: Mapping[str, Any],
    store: str | os.PathLike,
    *,
    executor: Any = None,
    start: Callable[..., Any] | None = None,
    q0=None,
    v0=None,
    p0=None,
    t: tuple[float, float] = (0.0, 1.0),
    h: float = 0.01,
    save_every: int = 1,
    combine: str = "product",
    variables: tuple[str, ...] = ("q", "v", "energy", "constraint"),
    piece: int = PIECE,
    project: bool = False,
    compensated: bool | None = None,
    progress: bool = False,
) -> Sweep:
    """Simulate one trajectory for every point of a grid, and keep all of them in one zarr store.

    Args:
        system: what moves; its float fields that are named in the grid take the values of the grid.
        method: for example `Rattle()`.
        grid: values by name: a float field of the system (one number a value), "q0", "v0" or "p0" (one row a value), or
            any other name that `start` takes.
        store: the folder to write to, such as "sweep.zarr". A sweep that was interrupted goes on with it, and leaves
            out the pieces that are finished. The workers must see the same folder.
        executor: None for a `LocalCluster` of all cores; a `distributed.Client`, a cluster or the address of a
            scheduler; or "here" for this process, without Dask.
        start: a function of the values at one point, by name, that returns q0 and v0.
        q0, v0, p0: the start, where neither the grid nor `start` gives it.
        t, h, save_every, project, compensated: as in `simulate`.
        combine: "product", every value with every other, the last name varying fastest; or "zip", the first with the
            first.
        variables: what is kept, some of "q", "v", "p", "energy", "constraint", "hidden".
        piece: how many trajectories a worker computes at a time, in one vectorised run.
        progress: show a progress bar.

    A trajectory whose step fails has a status other than 0 and repeats its last state; the others go on.
    """
    system = checked(instance("system", system, AbstractSystem, "a system"), method, "auto", "double")
    interval_, h, piece = interval(t), positive("h", h), count("piece", piece, 1)
    steps = equal_steps(interval_, h).steps
    save_every = checked_save_every(save_every, steps)
    options = {
        "save_every": save_every, "project": flag("project", project),
        "compensated": None if compensated is None else flag("compensated", compensated),
    }  # fmt: skip
    flag("progress", progress)
    kept = _variables(variables)
    path = arguments.path(store, "cannot write to").absolute()
    points = _points(system, grid, choice("combine", combine, ("product", "zip")), start, q0, v0, p0)
    first = points.part(slice(0, 1))
    columns, fixed = _columns(points, kept, interval_, steps, save_every, piece, first.q0.shape[1])
    identity = _identity(system, method, points, interval_, steps, options | {"piece": piece}, kept)
    found = SweepStore.open_or_create(path, identity, columns, fixed)
    job = Job(
        _digest(repr(sorted(identity.items()))), system, method, first, points.second_name, interval_,
        (interval_[1] - interval_[0]) / steps, options, kept, found,
    )  # fmt: skip
    numbers = range(-(-len(points) // piece))
    todo = [number for number in numbers if not found.is_finished(number)]
    failed = 0
    with _bar(progress, len(numbers), len(numbers) - len(todo)) as report, _workers(executor, bool(todo)) as run:
        tasks = {number: points.part(slice(number * piece, (number + 1) * piece)) for number in todo}
        for done in run(job, tasks):
            failed += done.failed
            report()
    missing = [number for number in todo if not found.is_finished(number)]
    if missing:
        raise InputError(
            f"{len(missing)} pieces were computed but are not in {path}: the workers must write to a folder that this "
            "process sees too."
        )
    return Sweep(path, len(points), len(numbers), len(todo), len(numbers) - len(todo), failed)


# -- the grid ------------------------------------------------------------------------------------------------


def _points(system, grid, combine: str, start, q0, v0, p0) -> _Points:
    values = _values(grid)
    fields = {field.name for field in dataclasses.fields(system) if field.type in (float, "float")}
    for name in values:
        if name not in fields and name not in STARTS and start is None:
            raise InputError(
                f"grid names {name!r}, which is no float field of {type(system).__name__} "
                f"({', '.join(sorted(fields)) or 'it has none'}), no q0, v0 or p0, and no argument of a function start."
            )
    lengths = [len(array) for array in values.values()]
    if combine == "zip":
        if len(set(lengths)) != 1:
            raise InputError(
                f'combine="zip" needs values of one length, got {dict(zip(values, lengths, strict=True))}.'
            )
        indices = [np.arange(lengths[0])] * len(lengths)
    else:
        indices = [part.ravel() for part in np.meshgrid(*(np.arange(n) for n in lengths), indexing="ij")]
    chosen = {name: array[index] for (name, array), index in zip(values.items(), indices, strict=True)}
    labels = {
        (name if array.ndim == 1 else f"{name}_number"): array if array.ndim == 1 else index
        for (name, array), index in zip(chosen.items(), indices, strict=True)
    }
    # of contacts one number for all of them, as batches have it: (trajectories, 1)
    parameters = {name: array[:, None] if name in RANGES else array for name, array in chosen.items() if name in fields}
    total = len(indices[0])
    rows, second_name = _start_rows(system, chosen, parameters, total, start, {"q0": q0, "v0": v0, "p0": p0})
    return _Points(labels, Rows(parameters, *rows), second_name)


def _values(grid) -> dict[str, np.ndarray]:
    if not isinstance(grid, Mapping) or not grid or not all(isinstance(name, str) for name in grid):
        raise InputError(f"grid must be a dict of values by name, with at least one name, got {shown(grid)}.")
    values = {}
    for name, given in grid.items():
        array = floats(f"grid[{name!r}]", given, finite=True)
        wanted = 2 if name in STARTS else 1
        if array.ndim != wanted or not len(array):
            shape = "(values, n)" if wanted == 2 else "(values,)"
            raise InputError(f"grid[{name!r}] must have the shape {shape} with at least one value, got {array.shape}.")
        if not name.isidentifier() or name in (*VARIABLES, "status", "time"):
            raise InputError(f"grid cannot hold the name {name!r}: it has another meaning in the store.")
        values[name] = array
    return values


def _start_rows(system, chosen, parameters, total: int, start, given) -> tuple[tuple[np.ndarray, np.ndarray], str]:
    """q0 and v0 (or p0) of all trajectories."""
    if start is not None:
        if any(value is not None for value in given.values()) or any(name in chosen for name in STARTS):
            raise InputError("give the start as a function, or as q0 and v0, not both.")
        if not callable(start):
            raise InputError(f"start must be a function of the values of the grid, got {shown(start)}.")
        if not takes_named(start, chosen):
            raise InputError(
                f"start must take the values of the grid by name, start({', '.join(chosen)}), as a function; "
                f"got {shown(start)}."
            )
        calls = [start(**{name: float(array[k]) for name, array in chosen.items()}) for k in range(total)]
        return _stacked(calls, "start(...)"), "v0"
    rows = {name: chosen[name] if name in chosen else given[name] for name in STARTS}
    if rows["q0"] is None:
        if not isinstance(system, WithStart) or rows["v0"] is not None or rows["p0"] is not None:
            raise InputError(f"give q0, here, in the grid or by a function start; {type(system).__name__} has none.")
        return _stacked([one.start() for one in _members(system, parameters, total)], "system.start()"), "v0"
    if (rows["v0"] is None) == (rows["p0"] is None):
        raise InputError("give exactly one of v0 (velocity) and p0 (momentum).")
    name = "v0" if rows["v0"] is not None else "p0"
    arrays = [floats(label, rows[label], finite=True) for label in ("q0", name)]
    for label, array in zip(("q0", name), arrays, strict=True):
        if array.shape[-1:] != arrays[0].shape[-1:] or array.shape not in (
            array.shape[-1:],
            (total, *array.shape[-1:]),
        ):
            raise InputError(f"{label} must have the shape (n,), the n of q0, got {array.shape}.")
    q, second = (np.broadcast_to(array, (total, array.shape[-1])).copy() for array in arrays)
    return (q, second), name


def _members(system, parameters, total: int) -> Iterator[WithStart]:
    own: Any = dataclasses.replace(system, **parameters) if parameters else system
    for k in range(total):
        yield member(own, k)  # pyright: ignore[reportReturnType]


def _stacked(starts: list, what: str) -> tuple[np.ndarray, np.ndarray]:
    try:
        q, v = (np.stack([np.asarray(one[k], dtype=np.float64) for one in starts]) for k in (0, 1))
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"{what} must return q0 and v0 of one length at every point: {error}.") from error
    if q.ndim != 2 or q.shape != v.shape or not (np.isfinite(q).all() and np.isfinite(v).all()):
        raise InputError(f"{what} must return finite q0 and v0 of one length, got {q.shape[1:]} and {v.shape[1:]}.")
    return q, v


def _variables(names) -> tuple[str, ...]:
    kept = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, list | tuple) else ()
    if not kept or len(set(kept)) < len(kept):
        raise InputError(f"variables must be different names out of {', '.join(VARIABLES)}, got {shown(names)}.")
    return tuple(choice("a name of variables", name, VARIABLES) for name in kept)


# -- the store -----------------------------------------------------------------------------------------------


def _columns(points: _Points, kept, t, steps: int, save_every: int, piece: int, n: int):
    """The arrays of the store, and the numbers of those that are known from the start."""
    total, saves = len(points), steps // save_every + 1
    columns = [SweepColumn("status", ("trajectory",), (total,), "int64", piece)]
    for name in kept:
        if name in ("q", "v", "p"):
            columns.append(SweepColumn(name, ("trajectory", "time", "coordinate"), (total, saves, n), "float64", piece))
        else:
            columns.append(SweepColumn(name, ("trajectory", "time"), (total, saves), "float64", piece))
    fixed = {"time": np.linspace(t[0], t[1], saves)}
    columns.append(SweepColumn("time", ("time",), (saves,)))
    for name, values in points.labels.items():
        kind = "int64" if values.dtype.kind == "i" else "float64"
        columns.append(SweepColumn(name, ("trajectory",), (total,), kind))
        fixed[name] = values
    return columns, fixed


def _identity(system, method, points: _Points, t, steps: int, options, kept) -> dict[str, Any]:
    """Everything on which the numbers depend, as JSON."""
    parameters, q0, second = points.part(slice(0, 1))
    one = dataclasses.replace(system, **{name: float(array[0].item()) for name, array in parameters.items()})
    given = {points.second_name: second[0]}
    began = prepare_start(
        one, q0[0], given.get("v0"), given.get("p0"), t[0], project=options["project"], redundant="refuse"
    )
    plain = {name: value for name, value in parameter_record(system).items() if name not in parameters}
    return {
        "system": type(system).__qualname__,
        "parameters": {name: str(value) for name, value in plain.items()},
        "method": method.name,
        "equations of a step": fingerprint(assemble(prepared(one), method, began.layout, None)),
        "trajectories": len(points),
        **{f"grid {name}": _summary(values) for name, values in points.labels.items()},
        "starting values": _digest(points.rows.q0.tobytes() + points.rows.second.tobytes()),
        "t": list(t),
        "steps": steps,
        **options,
        "variables": list(kept),
        "versions": versions()["versions"],
    }


def _summary(values: np.ndarray) -> str:
    return f"{values.min():g} ... {values.max():g}, digest {_digest(values.tobytes())[:8]}"


def _digest(data: bytes | str) -> str:
    return hashlib.blake2b(data if isinstance(data, bytes) else data.encode(), digest_size=16).hexdigest()


# -- the workers ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _workers(executor, needed: bool) -> Iterator[Callable[[Job, dict[int, Rows]], Iterator[Done]]]:
    """A function that computes pieces in any order and yields each one when it is done."""
    if (isinstance(executor, str) and executor == "here") or not needed:
        yield lambda job, tasks: itertools.starmap(compute_piece, ((job, n, rows) for n, rows in tasks.items()))
        return
    try:
        import distributed
        from distributed.deploy.cluster import Cluster
    except ImportError as error:
        raise InputError(
            'a sweep on a cluster needs dask.distributed: install dalembert[sweep], or pass executor="here".'
        ) from error
    with contextlib.ExitStack() as stack:
        if isinstance(executor, distributed.Client):
            client = executor
        elif executor is None or isinstance(executor, Cluster) or (isinstance(executor, str) and ":" in executor):
            try:
                cluster = executor if executor is not None else stack.enter_context(_local_cluster(distributed))
                client = stack.enter_context(distributed.Client(cluster, set_as_default=False))
            except (RuntimeError, OSError, ValueError) as error:
                raise InputError(
                    f"no workers could be started or reached ({error}). A script that starts workers needs its calls "
                    'under `if __name__ == "__main__":`; executor="here" needs no workers.'
                ) from error
        else:
            raise InputError(
                'executor must be None, "here", a distributed.Client, a cluster or the address of a scheduler, got '
                f"{shown(executor)}."
            )

        def run(job: Job, tasks: dict[int, Rows]) -> Iterator[Done]:
            # the job goes with every task: data that is scattered is lost with the last worker that holds it
            futures = [
                client.submit(
                    compute_piece, job, number, rows, key=f"dalembert-{job.key}-{number}", retries=RETRIES, pure=False
                )
                for number, rows in tasks.items()
            ]
            for _, done in distributed.as_completed(futures, loop=client.loop, with_results=True):
                yield done

        yield run


def _local_cluster(distributed):
    """One process a core; what it logs about workers that come and go is not shown."""
    return distributed.LocalCluster(
        n_workers=os.cpu_count() or 1, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
    )


@contextlib.contextmanager
def _bar(wanted: bool, total: int, there: int) -> Iterator[Callable[[], None]]:
    if not wanted:
        yield lambda: None
        return
    if needs_text_bar():
        done = itertools.count(there + 1)
        with TextBar("sweep", total, "pieces") as text:
            yield lambda: text(next(done))
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("sweep"), BarColumn(), TextColumn("{task.completed}/{task.total} pieces"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns) as bar:
        task = bar.add_task("sweep", total=total, completed=there)
        yield lambda: bar.advance(task)
