"""The test problems of the paper with their exact motions, and the fits to erratic errors."""

from __future__ import annotations

import numpy as np

import dalembert as da

from ...gallery.impacts import BouncingBall, ImpactOscillator

END = 5.0
PROBLEMS = {
    "ball": BouncingBall(),
    "oscillator": ImpactOscillator(),
    "oscillator with accumulation": ImpactOscillator(stop=0.2, restitution=0.5),
}
SETUP = (
    "Bouncing ball: $q'' = -2$, $q \\ge 0$, $\\rho = 1/2$, from rest at $q = 1$; the impacts accumulate at $t = 3$. "
    "Impacting oscillator: $q'' + 0.2 q' + 20 q = 0$ from rest at $q = 1$, once with a stop at $q \\ge -0.3$ and "
    "$\\rho = 0.8$ (five impacts), once with $q \\ge 0.2$ and $\\rho = 0.5$ (accumulation at $t = 1.6735$, contact "
    "from then on). The paper does not print the data of its oscillator; these are ours. $t \\in [0, 5]$."
)


def exact_q(system, t) -> np.ndarray:
    """Positions of the exact motion."""
    return np.asarray(system.exact(np.asarray(t)).q)[:, 0]


def exact_v(system, t) -> np.ndarray:
    """Velocities of the exact motion, after the impact where there is one."""
    return np.asarray(system.exact(np.asarray(t)).v)[:, 0]


def impact_times(system) -> np.ndarray:
    """The impacts until the end, of an accumulation those that floating point numbers tell apart."""
    if isinstance(system, BouncingBall):
        times = 3 - 2.0 ** (1 - np.arange(1.0, 40.0))
    else:
        times = np.array([flight.begin for flight in system.flights(1.0, 0.0, END)][1:])
    return np.unique(times[times < END])


def exact_graph(system, points: int = 20_001) -> tuple[np.ndarray, np.ndarray]:
    """The filled-in graph of the velocity as a polygon: both values where it jumps."""
    jumps = impact_times(system)
    before = np.nextafter(jumps, 0.0)
    t = np.sort(np.concatenate([np.linspace(0.0, END, points), before, jumps]))
    return t, exact_v(system, t)


def simulated(system, method, steps: int, **options):
    """One run over the whole interval."""
    return da.simulate(system, method, q0=[1.0], v0=[0.0], t=(0.0, END), h=END / steps, **options)


def fitted(h, errors) -> float:
    """The slope in double logarithmic axes; errors differ from step size to step size, so over all of them."""
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])
