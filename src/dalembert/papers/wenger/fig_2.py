"""Figure 2: the energy error of two variational integrators of different orders over a long time."""

import numpy as np

import dalembert as da

from ...gallery import Pendulum
from ..energy import draw_energy_panels, energy_errors, judge_energy, summary
from ..experiment import Experiment, Result, judged
from . import PAPER

SETUP = r"""
The planar pendulum with $m = l = 1$, gravity 9.81, from $q_0 = (\sin 1, -\cos 1)$, $p_0 = (\cos 1, \sin 1)$. Two
combinations: $s = 5$, $w = 4$ with the Gauss rule of order 10 (order of $q$: 8), and $s = 5$, $w = 3$ with the Lobatto
rule of order 8 (order of $q$: 4), where $s$ is too large for $w$. The first one takes steps ten times larger, $h =
0.1$ against $h = 0.01$. The energy is that of the raw momenta.

The interval is $[0, 200]$, in the full version $[0, 5000]$; the figure shows the first 50 units of time.
"""
END = {True: 200.0, False: 5000.0}
SHOWN = 50.0
COMBINATIONS = {
    "$s = 5$, $w = 4$, Gauss 10, $h = 0.1$": (da.Galerkin(5, 4, "gauss", 5, project=False), 0.1),
    "$s = 5$, $w = 3$, Lobatto 8, $h = 0.01$": (da.Galerkin(5, 3, "lobatto", 5, project=False), 0.01),
}
KEYS = ("s = 5, w = 4, Gauss, h = 0.1", "s = 5, w = 3, Lobatto, h = 0.01")


def run(quick: bool) -> Result:
    system = Pendulum()
    start = system.start()
    data, found = {}, {}
    for key, (method, h) in zip(KEYS, COMBINATIONS.values(), strict=True):
        one = da.simulate(system, method, start.q0, start.v0, t=(0.0, END[quick]), h=h)
        t, errors = np.asarray(one.t), energy_errors(one)
        found[key] = judge_energy(t, errors, scale=20.0)
        shown = t <= SHOWN * (1 + 1e-12)
        data[key] = {"t": t[shown], "E - E0": errors[shown]}
    data["summary"] = summary(found)
    first, second = found.values()
    sizes = "; ".join(f"{key}: max |E − E(0)| = {one.largest:.2e}" for key, one in found.items())
    halves = ", ".join(f"{one.second_half / one.first_half:.4f}" for one in found.values())
    return Result(
        data,
        [
            judged(
                first.bounded and second.bounded,
                "The energy error of both combinations oscillates and stays bounded.",
                f"over [0, {END[quick]:g}] {sizes}; second half / first half: {halves}",
            ),
            judged(
                first.largest < second.largest,
                "With a step ten times larger the combination of order 8 still has the smaller energy error.",
                sizes,
            ),
        ],
    )


def draw(result: Result):
    curves = {}
    for title, key in zip(COMBINATIONS, KEYS, strict=True):
        table = result.data[key]
        curves[title] = (np.asarray(table["t"]), np.asarray(table["E - E0"]))
    return draw_energy_panels(curves)


EXPERIMENT = Experiment(
    name="wenger-fig-2",
    paper=PAPER,
    title="Energy error of two combinations on the planar pendulum",
    setup=SETUP,
    run=run,
    draw=draw,
)
