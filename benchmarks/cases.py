"""What is timed: systems, starting values, step sizes, numbers of steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da
from dalembert.gallery import Chain, DoublePendulum, McLachlanPerlmutterParticles, Pendulum
from dalembert.gallery.springs_and_bars import FourParticles


@dataclass(frozen=True)
class Case:
    """One problem with one method; `c_problem` and `links` tell the C program which one it is."""

    name: str
    system: Any
    method: Any
    q0: np.ndarray
    v0: np.ndarray
    h: float
    native_steps: int
    xla_steps: int  # 0: not run
    c_problem: str | None = None
    links: int = 2

    def simulate(self, steps: int, **options) -> da.Trajectory:
        """A run of so many steps that keeps only its end, unless `save_every` says otherwise."""
        options = {"save_every": steps} | options
        return da.simulate(self.system, self.method, self.q0, self.v0, t=(0.0, steps * self.h), h=self.h, **options)


def hanging_chain(links: int, angle: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """A straight chain at an angle from the vertical, with a sideways velocity that grows along it."""
    reach = np.arange(1, links + 1, dtype=float)[:, None]
    q0 = reach * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    v0 = reach / links * np.array([0.0, 1.0, 0.0])
    return q0.ravel(), v0.ravel()


def cases() -> dict[str, Case]:
    """The rows of the table, by a short name."""
    pendulum, double = Pendulum().start(), DoublePendulum().start()
    single = (np.asarray(pendulum.q0), np.asarray(pendulum.v0), 0.01)
    two = (np.asarray(double.q0), np.asarray(double.v0), 0.01)
    ten = (*hanging_chain(10), 0.002)
    particles, four = McLachlanPerlmutterParticles().start(), FourParticles().start()
    coupled = (np.asarray(particles.q0), np.asarray(particles.v0), 0.05)
    bars = (np.asarray(four.q0), np.asarray(four.v0), 0.01)
    return {
        "pendulum": Case("pendulum, RATTLE", Pendulum(), da.Rattle(), *single, 1_000_000, 20_000, "pendulum"),
        "two-links": Case(
            "two-link spatial chain, RATTLE", DoublePendulum(), da.Rattle(), *two, 200_000, 10_000, "chain", 2
        ),
        "ten-links": Case(
            "ten-link spatial chain, RATTLE", Chain(links=10), da.Rattle(), *ten, 50_000, 1000, "chain", 10
        ),
        "shake": Case("pendulum, SHAKE", Pendulum(), da.Shake(), *single, 500_000, 20_000),
        "pendulum-6": Case("pendulum, Galerkin s=3 (order 6)", Pendulum(), da.Galerkin(3), *single, 200_000, 2000),
        "two-links-6": Case(
            "two-link chain, Galerkin s=3 (order 6)", DoublePendulum(), da.Galerkin(3), *two, 50_000, 500
        ),
        "ten-links-4": Case(
            "ten-link chain, Galerkin s=2 (order 4)", Chain(links=10), da.Galerkin(2), *ten, 10_000, 20
        ),
        "particles-6": Case(
            "McLachlan-Perlmutter particles, Gauss s=3 (order 6)",
            McLachlanPerlmutterParticles(),
            da.gauss_spark(3),
            *coupled,
            50_000,
            500,
        ),
        "particles-2": Case(
            "the same, 2-stage Lobatto IIIA-B",
            McLachlanPerlmutterParticles(),
            da.lobatto_spark(2, "AB"),
            *coupled,
            500_000,
            1000,
        ),
        "four-particles": Case(
            "four particles, energy-momentum", FourParticles(), da.EnergyMomentum(), *bars, 50_000, 0
        ),
        "four-particles-level": Case(
            "the same, hidden constraint kept",
            FourParticles(),
            da.EnergyMomentum(velocity_level=True),
            *bars,
            50_000,
            0,
        ),
    }
