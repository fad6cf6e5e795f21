"""Roundoff over long runs: constraints, and the energy with and without compensated summation.

A pendulum without gravity turns at a constant rate, and RATTLE turns it by the same angle in every step: its
energy is constant in exact arithmetic, so that whatever changes is roundoff.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

import numpy as np

import dalembert as da
from dalembert.diagnostics import drift
from dalembert.gallery import Pendulum

from .cases import cases
from .tables import Table

STEP, STARTS, SAVES = 0.01, 16, 2000


def constraint_table(share: float) -> Table:
    """The largest |g| and |g_q v| over every single step of a long run."""
    steps = max(1000, int(share * 1_000_000))
    table = Table("Constraints over a long run", ("", "steps", "max |g|", "max |g_q v + g_t|"))
    for name, count in (("pendulum", steps), ("two-links", steps // 10)):
        run = cases()[name].simulate(count, save_every=1)
        values = (f"{count:,}", f"{np.max(run.constraint):.1e}", f"{np.max(run.hidden):.1e}")
        table.rows.append((cases()[name].name, *values))
    table.notes.append("Taken over every step of the run, not over samples of it.")
    return table


@dataclass(frozen=True)
class Growth:
    """Relative energy errors of several starts, (starts, saves)."""

    steps: np.ndarray
    errors: np.ndarray

    def exponent(self, share: float = 1.0) -> float:
        """The growth exponent over the first part of the run, averaged over the starts."""
        kept = slice(0, round(share * SAVES) + 1)
        return float(np.mean([drift(self.steps[kept], row[kept]).growth_exponent for row in self.errors]))

    @property
    def rms(self) -> np.ndarray:
        return np.sqrt(np.mean(self.errors**2, axis=0))


def energy_growth(compensated: bool, steps: int) -> Growth:
    """Free rotation at different rates from different angles."""
    random = np.random.default_rng(0)
    errors, t = [], np.zeros(0)
    for _ in range(STARTS):
        angle, rate = random.uniform(0, 2 * np.pi), random.uniform(0.5, 1.5)
        q0 = np.array([np.sin(angle), -np.cos(angle)])
        v0 = rate * np.array([np.cos(angle), np.sin(angle)])
        run = da.simulate(
            Pendulum(gravity=0.0), da.Rattle(), q0, v0, t=(0.0, steps * STEP), h=STEP,
            save_every=steps // SAVES, compensated=compensated,
        )  # fmt: skip
        t = np.asarray(run.t)
        errors.append(run.energy / run.energy[0] - 1)
    return Growth(t / STEP, np.array(errors))


def energy_table(share: float, picture: pathlib.Path | None) -> Table:
    """Both ways of adding side by side, and a picture of them."""
    steps = SAVES * max(1, int(share * 10_000_000) // SAVES)
    found = {label: energy_growth(label == "compensated", steps) for label in ("compensated", "plain")}
    table = Table(
        "Energy error at roundoff",
        (
            "summation",
            f"rms after {steps // 100:,} steps",
            f"after {steps // 10:,}",
            f"after {steps:,}",
            "largest",
            f"exponent up to {steps // 10:,}",
            f"up to {steps:,}",
        ),
    )
    for label, growth in found.items():
        table.rows.append(
            (
                label,
                f"{growth.rms[SAVES // 100]:.1e}",
                f"{growth.rms[SAVES // 10]:.1e}",
                f"{growth.rms[-1]:.1e}",
                f"{np.max(np.abs(growth.errors)):.1e}",
                f"{growth.exponent(0.1):.2f}",
                f"{growth.exponent():.2f}",
            )
        )
    table.notes.append(
        f"Relative energy error of a freely turning pendulum, h = {STEP}, {STARTS} starts. The exponents are "
        "those of `dalembert.diagnostics.drift`, averaged over the starts: 0.5 is a random walk, 1 a drift."
    )
    if picture is not None:
        draw(found, picture)
    return table


def draw(found: dict[str, Growth], picture: pathlib.Path) -> None:
    """Energy errors against the number of steps, in logarithmic axes."""
    from dalembert.plots.style import GREY, PALETTE, new_figure, save_figure, style

    with style():
        figure = new_figure(9.0, 4.6, picture)
        axes = figure.add_subplot()
        for (label, growth), color in zip(found.items(), PALETTE, strict=False):
            steps, worst = growth.steps[1:], np.max(np.abs(growth.errors), axis=0)[1:]
            axes.plot(steps, growth.rms[1:], color=color, linewidth=2.0, label=f"{label}: root mean square")
            axes.plot(steps, worst, color=color, alpha=0.45, linewidth=1.0, label=f"{label}: largest")
        steps, plain, last = found["plain"].steps[1:], found["plain"].rms[1:], found["compensated"].rms[-1]
        half = np.median(plain / np.sqrt(steps)) * np.sqrt(steps)
        axes.plot(steps, half, "--", color=GREY, linewidth=1.2, label="steps$^{1/2}$")
        late = steps >= steps[-1] / 30
        axes.plot(steps[late], 0.5 * last * steps[late] / steps[-1], ":", color=GREY, linewidth=1.8, label="steps")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("steps")
        axes.set_ylabel("relative energy error")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        save_figure(figure, picture)
