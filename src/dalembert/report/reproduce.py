"""Run experiments in processes of their own, keep what is finished, write the page.

Processes are spawned: JAX does not survive a fork. Experiments that measure run time run one by one after the others.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import itertools
import multiprocessing
import os
import pathlib
import platform
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib.metadata import version

from ..arguments import check_writable
from ..errors import InputError
from ..papers import EXPERIMENTS, MOTIONS, Experiment, experiment_named
from ..plots import write_atomically
from .motions import Motions, stored_motions, write_motions
from .records import ERROR, Record, folder_of, store, stored
from .reproduction_page import reproduction_page

#: Called with the name of an experiment and what happens to it: "start", "done", "kept" or "failed".
Tell = Callable[[str, str], None]


@dataclass(frozen=True)
class Reproduction:
    """The records by experiment, what went wrong, and where the page is."""

    records: dict[str, Record]
    failures: list[str]
    index: pathlib.Path


def reproduce(
    names: Sequence[str] = (),
    output: str | os.PathLike[str] = "report",
    *,
    quick: bool = True,
    jobs: int | None = None,
    again: bool = False,
    tell: Tell = lambda name, event: None,
    experiments: dict[str, Experiment] | None = None,
) -> Reproduction:
    """Run the experiments called `names` (all of them if none is named) and write the page into `output`.

    The page also shows what earlier calls left in that folder, as long as it fits.

    Results of the same code in the same mode are kept, unless `again`. With `jobs=1` everything runs in this process.
    """
    begun = time.perf_counter()
    chosen = _chosen(names, experiments)
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}.")
    folder = _prepared(pathlib.Path(output))
    records: dict[str, Record] = {}
    if not again:
        for name in chosen:
            kept = stored(name, quick, folder)
            if kept is not None:
                records[name] = kept
                tell(name, "kept")
    todo = {name: experiment for name, experiment in chosen.items() if name not in records}
    if jobs == 1 or experiments is not None:  # experiments that were handed over cannot be found by name elsewhere
        found = _run_here(todo, quick, folder, tell)
    else:
        found = _run_in_processes(todo, quick, folder, jobs or os.cpu_count() or 1, tell)
    records = {name: records.get(name) or found[name] for name in chosen}
    index = folder / "index.html"
    shown = dict(records) if experiments is not None else _with_earlier(records, quick, folder)
    known = EXPERIMENTS if experiments is None else experiments
    pages = {name: experiment for name, experiment in known.items() if name in shown}
    here = jobs == 1 or experiments is not None
    motions, failures = _motions(pages.values(), folder, again, 1 if here else jobs or os.cpu_count() or 1)
    text = reproduction_page(pages, shown, folder, quick, _environment(time.perf_counter() - begun), motions, failures)
    write_atomically(index, lambda part: part.write_text(text, encoding="utf-8"))
    failures = [*(line for record in records.values() for line in record.failures), *failures]
    return Reproduction(records, failures, index)


def _chosen(names: Sequence[str], experiments: dict[str, Experiment] | None) -> dict[str, Experiment]:
    if experiments is not None:
        return experiments
    if not names:
        return dict(EXPERIMENTS)
    wanted = {experiment_named(name).name for name in names}
    return {name: experiment for name, experiment in EXPERIMENTS.items() if name in wanted}


def _with_earlier(records: dict[str, Record], quick: bool, folder: pathlib.Path) -> dict[str, Record]:
    """The records, and those of earlier calls that still fit, in the order of the papers."""
    found = {name: records.get(name) or stored(name, quick, folder) for name in EXPERIMENTS}
    return {name: record for name, record in found.items() if record is not None}


def _prepared(folder: pathlib.Path) -> pathlib.Path:
    try:
        (folder / "experiments").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write the report to {folder}: {error.strerror or error}.") from error
    for part in (folder, folder / "experiments"):
        check_writable(part, f"cannot write the report to {folder}")
    return folder


# -- running -----------------------------------------------------------------------------------------------------


def run_one(name: str, quick: bool, output: str) -> Record:
    """What a process does: one experiment of this package."""
    return _guarded(experiment_named(name), quick, pathlib.Path(output))


def _guarded(experiment: Experiment, quick: bool, output: pathlib.Path) -> Record:
    """The record of an experiment; an error becomes a record too, with the whole story in a file."""
    try:
        return store(experiment, quick, output)
    except Exception as error:
        with contextlib.suppress(OSError):
            (folder_of(output, experiment.name) / ERROR).write_text(traceback.format_exc(), encoding="utf-8")
        return Record(experiment.name, error=f"{type(error).__name__}: {error}")


def _run_here(todo: dict[str, Experiment], quick: bool, output: pathlib.Path, tell: Tell) -> dict[str, Record]:
    found = {}
    for name, experiment in todo.items():
        tell(name, "start")
        found[name] = _guarded(experiment, quick, output)
        tell(name, "failed" if found[name].error else "done")
    return found


def _run_in_processes(
    todo: dict[str, Experiment], quick: bool, output: pathlib.Path, jobs: int, tell: Tell
) -> dict[str, Record]:
    together = [name for name, experiment in todo.items() if not experiment.alone]
    one_by_one = [name for name, experiment in todo.items() if experiment.alone]
    found: dict[str, Record] = {}
    if together:
        _run_pool(together, quick, output, min(jobs, len(together)), tell, found)
        # a process that dies takes the pool with it: who was innocent finishes in a pool of its own
        for name in [name for name in together if name not in found]:
            _run_pool([name], quick, output, 1, tell, found)
    if one_by_one:
        _run_pool(one_by_one, quick, output, 1, tell, found)
        for name in [name for name in one_by_one if name not in found]:
            _run_pool([name], quick, output, 1, tell, found)
    for name in todo:
        if name not in found:
            found[name] = Record(name, error="its process died without a word (out of memory?).")
            tell(name, "failed")
    return found


def _run_pool(names: list[str], quick: bool, output: pathlib.Path, jobs: int, tell: Tell, found: dict) -> None:
    """Fill `found` for as many names as the pool lives to finish."""
    pool = concurrent.futures.ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    waiting, running = list(names), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                name = waiting.pop(0)
                running[pool.submit(run_one, name, quick, str(output))] = name
                tell(name, "start")
            finished, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in finished:
                name = running.pop(future)
                found[name] = future.result()
                tell(name, "failed" if found[name].error else "done")
    except BrokenProcessPool:
        return
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _motions(
    experiments: Iterable[Experiment], output: pathlib.Path, again: bool, jobs: int
) -> tuple[Motions, list[str]]:
    """The motions of the papers that are shown, and which of them failed."""
    keys = list(dict.fromkeys(experiment.paper.key for experiment in experiments))
    found: Motions = {} if again else {key: motions for key in keys if (motions := stored_motions(key, output))}
    todo, failures = [key for key in keys if key not in found and key in MOTIONS], []
    if jobs == 1 or len(todo) <= 1:
        made = map(run_motions, todo, itertools.repeat(str(output)))
        return found | _collected(todo, made, failures), failures
    with concurrent.futures.ProcessPoolExecutor(
        min(jobs, len(todo)), mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        made = pool.map(run_motions, todo, itertools.repeat(str(output)))
        return found | _collected(todo, made, failures), failures


def run_motions(key: str, output: str) -> dict[str, dict] | str:
    """What a process does: the motions of one paper, or why there are none."""
    try:
        return write_motions(key, pathlib.Path(output))
    except Exception as error:
        return f"motions of {key}: {type(error).__name__}: {error}"


def _collected(keys: list[str], made: Iterable[dict[str, dict] | str], failures: list[str]) -> Motions:
    found: Motions = {}
    try:
        for key, motions in zip(keys, made, strict=True):
            if isinstance(motions, str):
                failures.append(motions)
            else:
                found[key] = motions
    except BrokenProcessPool:
        failures.append("motions: a process died without a word (out of memory?).")
    return found


def _environment(seconds: float) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("dalembert", "jax", "numpy", "llvmlite"))
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{date}; {packages}, Python {platform.python_version()} on {platform.machine()}; {seconds:.0f} s."
