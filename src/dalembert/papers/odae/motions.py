"""What the systems of the paper do."""

from __future__ import annotations

import warnings

import jax.numpy as jnp
import numpy as np

import dalembert as da

from ...gallery.friction_surface import MassOnCubic, MassOnSurface, NonlinearReaction
from ..motion import Motion, motion_of, sampled
from .convergence import METHODS


def _run(system, name: str, end: float, h: float):
    y0, z0 = system.start_values()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.InconsistentMethodWarning)  # it is what is shown
        return da.simulate(system, METHODS[name], y0=y0, z0=z0, t=(0.0, end), h=h)


def natural_and_true() -> Motion:
    system = NonlinearReaction()
    t, true = sampled(_run(system, "true", 1.0, 0.002))
    _, natural = sampled(_run(system, "natural", 1.0, 0.002))
    solution = system.exact(t)
    assert solution is not None
    exact = np.asarray(solution.q)[:, None]
    y = np.linspace(0.9, 8.2, 100)
    return Motion(
        "Natural and true method on the artificial problem",
        "With $h = 0.002$ both stay on the curve $y_1 y_2^2 = 1$, but the natural method moves along it at a wrong "
        "speed, however small the steps; the true method covers the exact solution.",
        t,
        np.concatenate([exact, true, natural], axis=1),
        names=("exact", "true method", "natural method"),
        outlines=(np.stack([y, y**-0.5], axis=1),),
        colours=(6, 0, 1),
        trailing=(1, 2),
        labels=("y₁", "y₂"),
        equal=False,
        seconds=6.0,
    )


def mass_on_cubic() -> Motion:
    system = MassOnCubic()
    run = _run(system, "true", 2.0, 0.005)
    x = np.linspace(float(np.min(run.y[:, 0])) - 0.5, 11.0, 120)
    return motion_of(
        run,
        "A mass on the cubic",
        "It slides on $y_2 = 0.01 y_1^3$ with friction $0.1 |N|^{0.85}$; true method, $h = 0.005$.",
        outlines=(np.stack([x, 0.01 * x**3], axis=1),),
        labels=("y₁", "y₂"),
        seconds=6.0,
    )


def mass_on_surface() -> Motion:
    system = MassOnSurface()
    run = _run(system, "true", 7.4, 0.01)
    reach, line = np.linspace(-1.6, 1.6, 9), np.linspace(-1.6, 1.6, 41)
    curves = []
    for value in reach:
        for points in (np.stack([0 * line + value, line], axis=1), np.stack([line, 0 * line + value], axis=1)):
            heights = [float(system.height(jnp.asarray(point))) for point in points]
            curves.append(np.column_stack([points, heights]))
    return motion_of(
        run,
        "A mass in a rippled bowl",
        "The same friction law on a surface in space: the energy goes, and the mass comes to rest at $t = 7.44$, where "
        "the law has no direction any more; true method, $h = 0.01$.",
        outlines=tuple(curves),
        labels=("y₁", "y₂", "y₃"),
    )


MOTIONS = {"artificial": natural_and_true, "cubic": mass_on_cubic, "surface": mass_on_surface}
