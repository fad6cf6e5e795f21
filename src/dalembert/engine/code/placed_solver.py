"""Solvers of systems inside a step, each with its room in the working memory and its tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..elimination.banded import Band, BandedSolver, Places
from ..elimination.fronts import Fronts
from ..machine.arithmetic import Arithmetic
from .front_solver import FrontPlaces, FrontSolver
from .schedule import Memory


@dataclass(frozen=True)
class PlacedSolver:
    """A function of the module, `name(work, places)`, and what belongs to it."""

    text: str
    declarations: set[str]
    fixed: tuple[int, np.ndarray]  # numbers that lie in the memory from the start, and where
    growth: int | None  # where it leaves the largest multiplier; None if it chooses its pivots among all rows


def placed_solver(
    name: str, system: Band | Fronts | None, memory: Memory, arithmetic: Arithmetic, lanes: int, found: np.ndarray,
    target: int,
) -> PlacedSolver:  # fmt: skip
    """The solver of a band or of fronts. Right side and entries are found at the places `found`; the solution goes to
    `target`, in the order of the unknowns."""
    if isinstance(system, Band):
        return _of_band(name, system, memory, arithmetic, lanes, found, target)
    assert system is not None
    return _of_fronts(name, system, memory, arithmetic, lanes, found, target)


def _of_band(
    name: str, band: Band, memory: Memory, arithmetic: Arithmetic, lanes: int, found: np.ndarray, target: int
) -> PlacedSolver:
    solver = BandedSolver(name, band, arithmetic.scalar, lanes)
    places = Places(
        storage=memory.region(solver.storage),
        inverses=memory.region(band.size),
        right=memory.region(band.size),
        solution=memory.region(solver.solution),
        scales=memory.region(band.size),
        starts=memory.table(band.starts),
        at=memory.table(band.at),
        right_from=memory.table(found[: band.size]),
        entry_from=memory.table(found[band.size :]),
        target=memory.table(target + band.columns),
    )
    return PlacedSolver(solver.text(places), solver.declarations, (places.scales, band.scales), None)


def _of_fronts(
    name: str, fronts: Fronts, memory: Memory, arithmetic: Arithmetic, lanes: int, found: np.ndarray, target: int
) -> PlacedSolver:
    solver = FrontSolver(name, fronts, arithmetic, lanes)
    storage = memory.region(solver.layout.size)
    entry_to, right_to = solver.targets(storage)
    records = memory.table(solver.records(storage, memory.table_size))
    places = FrontPlaces(
        storage=storage,
        inverses=memory.region(fronts.size),
        solution=memory.region(fronts.size),
        local=memory.region(solver.longest),
        growth=memory.region(1),
        scales=memory.region(len(solver.scales)),
        records=records,
        entry_from=memory.table(found[fronts.size :][solver.order]),
        entry_to=memory.table(entry_to),
        right_from=memory.table(found[: fronts.size]),
        right_to=memory.table(right_to),
        target=memory.table(target + fronts.columns),
    )
    text, declarations = solver.text(places)
    return PlacedSolver(text, declarations, (places.scales, solver.scales), places.growth)
