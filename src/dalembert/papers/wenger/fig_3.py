"""Figure 3: the angular momentum of the double pendulum about the vertical, kept to roundoff."""

import numpy as np

import dalembert as da

from ...gallery import DoublePendulum
from ...plots.style import PALETTE, new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER

SETUP = r"""
The double pendulum in space with unit masses and lengths starts with its first link level. The Lagrangian and the
constraints do not change under rotations about the vertical axis, so $I = x_1 p_{y1} - y_1 p_{x1} + x_2 p_{y2} - y_2
p_{x2}$ is conserved, here $I = 2.6$.

Four combinations of degrees and rules run with $h = 0.02$ over $[0, 50]$ (full version: $[0, 1000]$), with raw
momenta.
"""
END, STEP = {True: 50.0, False: 1000.0}, 0.02
#: Rounding adds up: so many units of roundoff of the angular momentum are allowed for every step, and some more.
UNITS_A_STEP, UNITS = 0.1, 100
UNIT = 2.6 * np.finfo(float).eps
COMBINATIONS = {
    "s = w = 1, Gauss 2": da.Galerkin(1, 1, "gauss", 1, project=False),
    "s = 3, w = 2, Gauss 6": da.Galerkin(3, 2, "gauss", 3, project=False),
    "s = w = 3, Lobatto 6": da.Galerkin(3, 3, "lobatto", 4, project=False),
    "s = 5, w = 4, Lobatto 8": da.Galerkin(5, 4, "lobatto", 5, project=False),
}


def run(quick: bool) -> Result:
    system = DoublePendulum()
    start = system.start()
    columns = {}
    t = np.zeros(0)
    for name, method in COMBINATIONS.items():
        one = da.simulate(
            system, method, start.q0, start.v0, t=(0.0, END[quick]), h=STEP, save_every=1 if quick else 10
        )
        momentum = np.asarray(one.invariants["angular_momentum_z"])
        t, columns[name] = np.asarray(one.t), momentum - momentum[0]
    largest = {name: float(np.max(np.abs(values))) for name, values in columns.items()}
    claim = judged(
        max(largest.values()) < (UNITS + UNITS_A_STEP * END[quick] / STEP) * UNIT,
        "The angular momentum about the vertical is preserved up to numerical accuracy.",
        f"max |I − I(0)| over [0, {END[quick]:g}]: " + "; ".join(f"{name} {x:.1e}" for name, x in largest.items()),
        note=f"One unit of roundoff of I is {UNIT:.1e}. What is left grows slowly, probably because "
        "the coefficients of the methods are rounded to 64 bits: 80-bit floats remove it for s = w = 1, whose "
        "coefficients are exact, and not for s = 3.",
    )
    summary = {"combination": list(largest), "max |I - I(0)|": list(largest.values())}
    return Result({"angular momentum error": {"t": t, **columns}, "summary": summary}, [claim])


def draw(result: Result):
    table = result.data["angular momentum error"]
    t = np.asarray(table["t"])
    with style():
        figure = new_figure(9.6, 5.2, ".")
        grid = figure.subplots(2, 2, sharex=True, sharey=True)
        for k, (name, axes) in enumerate(zip(COMBINATIONS, grid.ravel(), strict=True)):
            axes.plot(t, 1e15 * np.asarray(table[name]), ".", color=PALETTE[k], markersize=2.5, rasterized=True)
            axes.set_title(name, loc="left", fontsize=13)
            axes.set_xlim(0, t[-1])
            axes.set_navigate(False)  # dots as pixels: nothing to zoom into
            if k % 2 == 0:
                axes.set_ylabel(r"$I - I_0 \quad [10^{-15}]$")
            if k >= 2:
                axes.set_xlabel("$t$")
    return figure


EXPERIMENT = Experiment(
    name="wenger-fig-3",
    paper=PAPER,
    title="Angular momentum of the double pendulum",
    setup=SETUP,
    run=run,
    draw=draw,
)
