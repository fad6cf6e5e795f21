"""What the pendulums of the paper do, and where the methods take them."""

from __future__ import annotations

import numpy as np

import dalembert as da

from ...gallery import DoublePendulum, Pendulum
from ..motion import FRAMES, Motion, beside, motion_of

END, STEP = 20.0, 0.1


def pendulums() -> Motion:
    system = Pendulum()
    start = system.start()
    times = np.linspace(0.0, END, FRAMES)
    runs = [da.simulate(system, da.Galerkin(s), start.q0, start.v0, t=(0.0, END), h=STEP) for s in (1, 2)]
    masses = [np.asarray(system.exact(times).q), *(np.asarray(run.interpolate(times).q) for run in runs)]
    pivot = np.zeros((FRAMES, 1, 2))
    points = beside([np.concatenate([pivot, mass[:, None]], axis=1) for mass in masses], 2.3)
    return Motion(
        "The same step size, three pendulums",
        "The exact motion (left), and the variational integrators with $s = 1$ (middle) and $s = 2$ (right), both with "
        "$h = 0.1$, about twenty steps a period. All keep the energy; the first one loses the beat.",
        times,
        points,
        bars=((0, 1), (2, 3), (4, 5)),
        trailing=(1, 3, 5),
        colours=(6, 6, 6, 1, 6, 0),
        seconds=12.0,
    )


def double_pendulum() -> Motion:
    system = DoublePendulum()
    start = system.start()
    run = da.simulate(system, da.Galerkin(3), start.q0, start.v0, t=(0.0, 12.0), h=0.02)
    return motion_of(
        run,
        "The double pendulum in space",
        "Its angular momentum about the vertical is the invariant of figure 3. Variational integrator of order 6, "
        "$h = 0.02$.",
        seconds=12.0,
    )


MOTIONS = {"pendulums": pendulums, "double-pendulum": double_pendulum}
