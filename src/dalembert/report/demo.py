"""The main job: run everything, write files, figures, a film and the page; do the claims hold?"""

from __future__ import annotations

import datetime
import pathlib
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from ..arguments import check_writable
from ..errors import DalembertError, InputError
from ..gallery import GALLERY, Ready
from ..method import CATALOGUE, Method
from ..plots import animate, plot, plot_convergence, write_atomically
from ..simulation import simulate
from .measure import Measurement, measure
from .page import Picture, SystemSection, page, small

#: The methods of the demonstration: second order, and one of higher order that treats every kind of constraint.
DEMONSTRATED = ("rattle", "shake", "gauss-spark-2")
#: The system of the film, with what makes it worth seeing.
FILM_SYSTEM, FILM_PARAMETERS, FILM_END, FILM_STEP = "chain", {"links": 8}, 8.0, 0.01
#: Systems in the figure of the convergence: more would not be told apart.
SHOWN_ORDERS = 6


@dataclass(frozen=True)
class Demonstration:
    """What was measured, what failed, and where the page is."""

    measurements: list[Measurement]
    failures: list[str]
    index: pathlib.Path


def demonstrate(
    folder,
    systems: dict[str, type[Ready]] | None = None,
    report: Callable[[str, int, int], None] = lambda name, done, total: None,
) -> Demonstration:
    """Run the gallery (or the systems given) and write the report into `folder`.

    `report(name, done, total)` is called before each piece of work.
    """
    begun = time.perf_counter()
    folder = _prepared(pathlib.Path(folder))
    systems = GALLERY if systems is None else systems
    chosen = systems.get(FILM_SYSTEM, next(iter(systems.values())))
    measurements, failures, sections = [], [], []
    total = len(systems) + 1
    for done, (name, kind) in enumerate(systems.items()):
        report(name, done, total)
        found, troubles = _measure_all(name, kind())
        measurements += found
        failures += troubles
        if found:
            sections.append(_write_system(folder, name, kind, found))
    report("film and page", total - 1, total)
    film = _write_film(folder, chosen)
    convergence = [_write_convergence(folder, name, measurements) for name in DEMONSTRATED]
    index = folder / "index.html"
    seconds = time.perf_counter() - begun
    text = page(
        measurements,
        failures,
        film,
        [x for x in convergence if x],
        sections,
        _environment(measurements, seconds),
    )
    write_atomically(index, lambda part: part.write_text(text, encoding="utf-8"))
    report("done", total, total)
    return Demonstration(measurements, failures, index)


def _prepared(folder: pathlib.Path) -> pathlib.Path:
    try:
        for part in (folder, folder / "runs", folder / "figures"):
            part.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write the report to {folder}: {error.strerror or error}.") from error
    for part in (folder, folder / "runs", folder / "figures"):
        check_writable(part, f"cannot write the report to {folder}")
    return folder


def _measure_all(name: str, system: Ready) -> tuple[list[Measurement], list[str]]:
    found, failures = [], []
    for method_name in DEMONSTRATED:
        method = CATALOGUE[method_name].method
        if not _fits(system, method):
            continue
        try:
            result = measure(name, system, method_name, method)
        except DalembertError as error:
            failures.append(f"{name} with {method_name}: {error}")
            continue
        found.append(result)
        failures += [f"{name} with {method_name}: {text}" for text in result.failures]
    return found, failures


def _fits(system: Ready, method: Method) -> bool:
    return all(part in method.handles for part in system.parts)


def _write_system(folder: pathlib.Path, name: str, kind: type[Ready], found: list[Measurement]) -> SystemSection:
    for result in found:
        result.run.save(folder / "runs" / f"{name}_{result.method_name}.nc")
    first = found[0]
    figure = folder / "figures" / f"{name}.png"
    plot(first.run, figure)
    kept = ", ".join(f"{key.replace('_', ' ')} changes by {small(value)}" for key, value in first.invariants.items())
    made = first.run.provenance
    note = f"{made['method']}, h = {made['h']:g}, {made['steps']:,} steps" + (f"; {kept}" if kept else "")
    return SystemSection(name, first_sentence(kind), Picture(figure, ""), note)


def first_sentence(kind: type) -> str:
    """The first paragraph of a class's documentation, in one line."""
    return " ".join((kind.__doc__ or "").strip().split("\n\n")[0].replace("`", "'").split()).removesuffix("::")


def _write_film(folder: pathlib.Path, kind: type[Ready]) -> Picture:
    is_chain = kind is GALLERY[FILM_SYSTEM]
    system = kind(**FILM_PARAMETERS) if is_chain else kind()
    start = system.start()
    end, h = (FILM_END, FILM_STEP) if is_chain else (start.t_end, start.h)
    method = next(entry.method for entry in CATALOGUE.values() if _fits(system, entry.method))
    run = simulate(system, method, start.q0, start.v0, t=(0.0, end), h=h, on_failure="return")
    path = animate(run, folder / "film.gif", fps=25, pixels=560)
    return Picture(path, f"{first_sentence(kind)} {method.name}, h = {h:g}, {len(run) - 1:,} steps.")


def _write_convergence(folder: pathlib.Path, method: str, measurements: list[Measurement]) -> Picture | None:
    found = [m for m in measurements if m.method_name == method][:SHOWN_ORDERS]
    if not found:
        return None
    path = folder / "figures" / f"convergence_{method}.png"
    # every system has its own default step size: multiples of it are compared
    factors = {m.system_name: m.errors.hs / m.run.provenance["h"] for m in found}
    errors = {m.system_name: m.errors.errors["q"] for m in found}
    plot_convergence(
        factors, errors, path, order=CATALOGUE[method].method.order,
        labels=("$h$ / default step size", "error of $q$"),
    )  # fmt: skip
    return Picture(path, f"{method}: error of q against the step size")


def _environment(measurements: list[Measurement], seconds: float) -> str:
    packages = ", ".join(f"{name} {version(name)}" for name in ("dalembert", "jax", "numpy"))
    engines = ", ".join(sorted({str(m.run.stats["engine"]) for m in measurements}))
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"{date}; {packages}, Python {platform.python_version()} on {platform.machine()}; "
        f"engine {engines or 'none'}; {seconds:.0f} s in all."
    )
