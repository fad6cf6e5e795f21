"""Which way to take steps takes which option, for docs/engine.md: every one is tried.

`python docs/options.py` fills in the page.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import dalembert as da

H = 0.05


class Oscillator(da.System):
    """A particle on a spring."""

    stiffness: float = 1.0

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 0.5 * self.stiffness * (q @ q)


class Balls(da.System):
    """Particles that fall onto the ground, each a contact of its own."""

    restitution: float = 0.5

    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 9.81 * jnp.sum(q)

    def gap(self, t, q):
        return q


class Way(NamedTuple):
    """A way to take steps, by a run that goes it."""

    system: da.System
    method: da.Method
    q0: Any
    h: Any = H
    options: Mapping[str, Any] = MappingProxyType({})

    def run(self, **options):
        call = {"v0": np.zeros_like(self.q0), "t": (0.0, 4 * H), "h": self.h} | {**self.options, **options}
        return da.simulate(self.system, self.method, self.q0, **call)


OSCILLATOR = Way(Oscillator(), da.Rattle(), [1.0])
WAYS = {
    "one step size": OSCILLATOR,
    "a composition": OSCILLATOR._replace(method=da.Composition(da.Rattle(), "yoshida4")),
    "steps of given sizes": OSCILLATOR._replace(h=[H, 2 * H, H]),
    "`da.Adaptive`": Way(Balls(), da.MoreauJean(), [1.0], da.Adaptive(1e-2, 1e-2, H, H)),
    "a batch": OSCILLATOR._replace(q0=[[1.0], [2.0]]),
    '`engine="xla"`': OSCILLATOR._replace(options={"engine": "xla"}),
    "few contacts": Way(Balls(), da.MoreauJean(), [1.0]),
    "many contacts": Way(Balls(), da.MoreauJean(), [1.0] * 60),
    "event capturing": Way(Balls(), da.EventCapturing(da.half_explicit(2)), [1.0]),
    "event capturing, a batch": Way(Balls(), da.EventCapturing(da.half_explicit(2)), [[1.0], [0.5]]),
}


def stored(way: Way):
    with tempfile.TemporaryDirectory() as folder:
        return way.run(checkpoint=pathlib.Path(folder) / "run.zarr")


def gradient(way: Way):
    """The derivative of the end by a number of the system."""
    name = "stiffness" if isinstance(way.system, Oscillator) else "restitution"

    def end(value):
        return way._replace(system=type(way.system)(**{name: value})).run().q.ravel()[-1]

    jax.grad(end)(0.7)


OPTIONS: dict[str, Callable[[Way], Any]] = {
    '`engine="native"`': lambda way: way.run(engine="native"),
    '`engine="xla"`': lambda way: way.run(engine="xla"),
    '`precision="extended"`': lambda way: way.run(precision="extended"),
    "`compensated=False`": lambda way: way.run(compensated=False),
    "`checkpoint=`": stored,
    "`retry=True`": lambda way: way.run(retry=True),
    "`progress=True`": lambda way: way.run(progress=True),
    "`jax.grad`": gradient,
}


def tried(way: Way, option: Callable[[Way], Any]) -> str:
    """Whether a way takes an option; what it does not take it has to refuse."""
    try:
        option(way)
    except (da.InputError, da.MethodDoesNotFit):
        return "refused"
    return "yes"


def table() -> str:
    """One row for each way."""
    rows = ['| way | `run.stats["engine"]` | ' + " | ".join(OPTIONS) + " |"]
    rows.append("| --- | --- |" + " --- |" * len(OPTIONS))
    for name, way in WAYS.items():
        cells = [tried(way, option) for option in OPTIONS.values()]
        rows.append(f"| {name} | `{way.run().stats['engine']}` | " + " | ".join(cells) + " |")
    return "\n".join(rows)


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parent.parent
    sys.path.insert(0, str(root))
    from benchmarks.pages import fill

    warnings.simplefilter("ignore")
    fill(root / "docs" / "engine.md", "options", table())
