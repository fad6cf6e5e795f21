"""What the test problems of the paper do."""

from __future__ import annotations

import numpy as np

import dalembert as da

from ..motion import FRAMES, Motion, beside
from .problems import END, PROBLEMS, exact_q, simulated

GAP = 0.7


def _heights(q) -> np.ndarray:
    """Masses that move up and down, (times, 1, 2)."""
    q = np.asarray(q).reshape(-1, 1)
    return np.stack([np.zeros_like(q), q], axis=2)


def _floor(k: int, height: float) -> np.ndarray:
    """Under the motion number k."""
    return np.array([[(k - 0.3) * GAP, height], [(k + 0.3) * GAP, height]])


def problems() -> Motion:
    times = np.linspace(0.0, END, FRAMES)
    runs = [simulated(system, da.EventCapturing(da.lobatto_iiia(3)), 200) for system in PROBLEMS.values()]
    heights = [_heights(np.interp(times, np.asarray(run.t), np.asarray(run.q)[:, 0])) for run in runs]
    return Motion(
        "Ball, oscillator, oscillator with accumulation",
        "Each hits its stop: the ball infinitely often before $t = 3$, the second five times, the third infinitely "
        "often before $t = 1.6735$. Event capturing of order 4, 200 steps, takes all of them.",
        times,
        beside(heights, GAP),
        names=tuple(PROBLEMS),
        outlines=tuple(_floor(k, stop) for k, stop in enumerate((0.0, -0.3, 0.2))),
        labels=("", "q"),
    )


def schemes() -> Motion:
    times = np.linspace(0.0, END, FRAMES)
    ball = PROBLEMS["ball"]
    methods = (da.MoreauJean(), da.EventCapturing(da.lobatto_iiia(3)))
    runs = [simulated(ball, method, 50) for method in methods]
    curves = [np.interp(times, np.asarray(run.t), np.asarray(run.q)[:, 0]) for run in runs]
    return Motion(
        "One ball, two schemes",
        "The exact motion (left), Moreau's scheme of order 1 (middle) and event capturing of order 4 (right), both "
        "with 50 steps of $h = 0.1$, straight lines between them.",
        times,
        beside([_heights(curve) for curve in (exact_q(ball, times), *curves)], GAP),
        names=("exact", "Moreau", "event capturing"),
        outlines=tuple(_floor(k, 0.0) for k in range(3)),
        colours=(6, 1, 0),
        labels=("", "q"),
        seconds=8.0,
    )


MOTIONS = {"problems": problems, "schemes": schemes}
