"""Methods of higher order on long chains, trees and nets; the energy-momentum method on springs and bars."""

from __future__ import annotations

import time

import dalembert as da
from dalembert.engine import finish_compiling
from dalembert.gallery import Chain
from dalembert.gallery.springs_and_bars import Lattice

from .cases import hanging_chain
from .tables import Table, microseconds
from .trees_and_nets import Net, Tree

LINKS, CELLS = (10, 100, 1000), (4, 49, 499)
#: Only the method of order 6, and fewer steps.
MOST_LINKS = 10_000
STEPS, FEW_STEPS = 50, 10


def large_systems_table(share: float) -> Table:
    """The first call and the time of a step."""
    header = ("system and method", "engine", "unknowns", "first call, s", "microseconds a step", "worst constraint")
    table = Table("Large systems", header)
    cases = [
        (f"chain of {links} links, {method.name}", Chain(links=links), method, hanging_chain(links, 0.3), 0.001)
        for method in (da.Galerkin(2), da.Galerkin(3))
        for links in LINKS
    ]
    name = f"chain of {MOST_LINKS} links, {da.Galerkin(3).name}"
    cases.append((name, Chain(links=MOST_LINKS), da.Galerkin(3), hanging_chain(MOST_LINKS, 0.3), 0.001))
    tree, net, sixth = Tree(), Net(), da.Composition(da.Rattle(), "sofroniou-spaletta6")
    cases += [
        (f"{what}, {method.name}", system, method, (start.q0, start.v0), start.h)
        for what, system, start in (
            (f"tree of {2**tree.generations - 1} bodies", tree, tree.start()),
            (f"net of {net.side**2} knots", net, net.start()),
        )
        for method in (da.Rattle(), sixth, da.Galerkin(3))
    ]
    for cells in CELLS:
        system = Lattice(cells=cells)
        start = system.start()
        name = f"lattice of {2 * (cells + 1)} particles, {da.EnergyMomentum().name}"
        cases.append((name, system, da.EnergyMomentum(), (start.q0, start.v0), 0.01))
    for name, system, method, (q0, v0), h in cases if share >= 1 else cases[:1]:
        few = FEW_STEPS if len(q0) >= MOST_LINKS else STEPS
        begun = time.perf_counter()
        run = da.simulate(system, method, q0, v0, t=(0.0, few * h), h=h)
        first = time.perf_counter() - begun
        steps = few if len(q0) >= MOST_LINKS or run.stats["engine"] == "sparse" else 40 * STEPS
        da.simulate(system, method, q0, v0, t=(0.0, few * h), h=h)
        finish_compiling()
        again = da.simulate(system, method, q0, v0, t=(0.0, steps * h), h=h)
        step = 1e6 * again.stats["wall_seconds"] / steps
        stats = run.stats
        table.rows.append(
            (
                name,
                str(stats["engine"]),
                str(stats["unknowns"]),
                f"{first:.1f}",
                microseconds(step),
                f"{run.constraint.max():.1e}",
            )
        )
    table.notes.append(
        f"{STEPS} steps ({40 * STEPS} of the native engine, {FEW_STEPS} of {MOST_LINKS} links), all states saved; the "
        "first call translates and takes them."
    )
    return table
