"""Milliseconds to an accuracy: compositions beside collocation methods, on problems with constraints."""

from __future__ import annotations

import numpy as np

import dalembert as da
from dalembert.gallery import DoublePendulum, Pendulum
from dalembert.gallery.springs_and_bars import FourParticles

from .tables import Table

ACCURACIES = (1e-4, 1e-6, 1e-8)
#: Steps of the coarsest run over an interval; runs are refined by `FACTOR` until the finest accuracy is reached.
FACTOR, RUNS = 1.4, 22


def problems() -> dict[str, tuple]:
    """System, interval, coarsest numbers of steps for orders below and from 6 on."""
    return {
        "pendulum, t = 100": (Pendulum(), 100.0, 300),
        "two-link chain, t = 10": (DoublePendulum(), 10.0, 60),
        "four particles, t = 10": (FourParticles(), 10.0, 100),
    }


def methods() -> dict[str, da.Method]:
    """Compositions of RATTLE, and collocation methods of orders 4 to 12."""
    schemes = ("suzuki4", "kahan-li6", "suzuki-umeno8", "kahan-li8", "sofroniou-spaletta10")
    composed = {f"RATTLE, {scheme}": da.Composition(da.Rattle(), scheme) for scheme in schemes}
    return composed | {f"Galerkin s={s} (order {2 * s})": da.Galerkin(s) for s in (2, 3, 4, 5, 6)}


def _reference(system, end: float):
    start = system.start()
    exact = system.exact(np.array([end]))
    if exact is not None:
        return np.asarray(exact.q)[-1]
    return da.simulate(system, da.Galerkin(6), start.q0, start.v0, t=(0.0, end), h=end / 4000, save_every=4000).q[-1]


def accuracy_table(repeats: int, share: float) -> Table:
    """The least time with which each method reaches each accuracy at the end of the run."""
    header = ("milliseconds to reach", *(f"{a:g}" for a in ACCURACIES), "largest g")
    table = Table("Time to an accuracy in q, compile time excluded", header)
    for name, (system, end, coarsest) in problems().items():
        reference = _reference(system, end)
        for label, method in list(methods().items()) if share >= 1 else list(methods().items())[:2]:
            times, worst = _times(system, method, end, coarsest, reference, repeats if share >= 1 else 1)
            cells = ("-" if value is None else f"{1e3 * value:.2g}" for value in times)
            table.rows.append((f"{name}: {label}", *cells, f"{worst:.0e}"))
    return table


def _times(system, method, end, coarsest, reference, repeats) -> tuple[list[float | None], float]:
    start, found, worst = system.start(), dict.fromkeys(ACCURACIES), 0.0
    for k in range(RUNS):
        steps = int(coarsest * FACTOR**k)
        arguments = (system, method, start.q0, start.v0, None, (0.0, end), end / steps)
        run = da.simulate(*arguments, save_every=steps, on_failure="return")
        if not run.status:
            continue
        error = float(np.max(np.abs(run.q[-1] - reference)))
        reached = [a for a in ACCURACIES if error <= a and found[a] is None]
        if reached:
            seconds = min(da.simulate(*arguments, save_every=steps).stats["wall_seconds"] for _ in range(repeats))
            found |= dict.fromkeys(reached, seconds)
            worst = max(worst, float(np.max(run.constraint)))
        if found[ACCURACIES[-1]] is not None:
            break
    return list(found.values()), worst
