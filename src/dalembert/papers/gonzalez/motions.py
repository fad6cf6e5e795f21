"""What the systems of the paper and its relatives do."""

from __future__ import annotations

import numpy as np

import dalembert as da

from ...gallery import FourParticles, HeavyTop
from ..motion import Motion, motion_of, sampled
from .methods import END, STEP

METHOD = da.EnergyMomentum("invariant")


def four_particles() -> Motion:
    system = FourParticles()
    start = system.start()
    run = da.simulate(system, METHOD, start.q0, start.v0, t=(0.0, END), h=STEP)
    return motion_of(
        run,
        "The four particles",
        "Two rigid bars (thick) and two stiff springs (thin). Energy, linear and angular momentum and the lengths of "
        "the bars are kept to roundoff.",
        springs=system.springs,
        names=tuple(f"particle {k}" for k in range(1, 5)),
    )


def heavy_top() -> Motion:
    system = HeavyTop()
    start = system.start()
    run = da.simulate(system, METHOD, start.q0, start.v0, t=(0.0, start.t_end), h=start.h)
    t, directors = sampled(run, dimension=3)
    first, second, axis = (directors[:, [k]] for k in range(3))
    rim = [0.7 * axis + 0.35 * arm for arm in (first, second, -first, -second)]
    return Motion(
        "A heavy top",
        "The same method in redundant coordinates: three directors and six constraints. The top spins, and its axis "
        "goes round the vertical; $h = 0.01$.",
        t,
        np.concatenate([axis, *rim], axis=1),
        bars=((None, 0), (1, 2), (2, 3), (3, 4), (4, 1)),
        trailing=(0,),
        colours=(0, 1, 6, 6, 6),
    )


MOTIONS = {"four-particles": four_particles, "heavy-top": heavy_top}
