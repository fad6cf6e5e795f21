"""Figure 3: the velocity constraints along the motion."""

import numpy as np

import dalembert as da

from ...gallery.springs_and_bars import FourParticles
from ...plots.style import PALETTE, new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER
from .methods import METHODS, SETUP, STEP, runs


def hidden_constraints(run) -> np.ndarray:
    """g' = g_q v of both bars, time first."""
    x, v = (np.asarray(a).reshape(-1, 4, 3) for a in (run.q, run.v))
    columns = []
    for i, j in FourParticles.rods:
        r, w = x[:, i] - x[:, j], v[:, i] - v[:, j]
        columns.append(np.sum(r * w, axis=1) / np.linalg.norm(r, axis=1))
    return np.stack(columns, axis=1)


def run(quick: bool) -> Result:
    found = runs()
    plain = hidden_constraints(found["invariant"])
    sizes = [float(np.max(np.abs(hidden_constraints(runs(h)["invariant"])))) for h in (STEP, STEP / 2, STEP / 4)]
    orders = np.log2(np.array(sizes[:-1]) / np.array(sizes[1:]))
    half = len(plain) // 2
    ratio = float(np.max(np.abs(plain[half:])) / np.max(np.abs(plain[:half])))
    level = float(np.max(np.abs(hidden_constraints(found["invariant, velocity level"]))))
    start = FourParticles().start()
    defect = da.reversibility_defect(FourParticles(), METHODS["invariant"], start.q0, start.v0, (0.0, 1.0), STEP)
    claims = [
        judged(
            0.5 < ratio < 2.0 and bool(np.all(np.abs(orders - 2) < 0.2)),
            "The velocity constraints exhibit bounded oscillations about zero.",
            f"amplitude {sizes[0]:.1e} with step 0.01, falling with order {orders[0]:.2f}, {orders[1]:.2f}; second "
            f"half of the run / first half {ratio:.2f}; with `velocity_level=True` {level:.1e}",
        ),
        judged(
            max(defect.q, defect.p) < 1e-12,
            "The scheme is time-reversible.",
            f"there and back over [0, 1]: {defect.q:.1e} in q, {defect.p:.1e} in p",
        ),
    ]
    table = {"t": found["invariant"].t, "g1'": plain[:, 0], "g2'": plain[:, 1]}
    return Result({"velocity constraints": table}, claims)


def draw(result: Result):
    data = result.data["velocity constraints"]
    with style():
        figure = new_figure(7.6, 4.8, ".")
        panels = figure.subplots(2, 1, sharex=True)
        for k, axes in enumerate(panels):
            axes.plot(np.asarray(data["t"]), 1e5 * np.asarray(data[f"g{k + 1}'"]), color=PALETTE[k], linewidth=0.7)
            axes.set_ylabel(rf"$10^5\, \dot g_{k + 1}$")
        panels[1].set_xlabel("$t$")
        panels[1].set_xlim(0.0, 10.0)
    return figure


EXPERIMENT = Experiment(
    name="gonzalez-fig-3", paper=PAPER, title="Velocity constraints along the motion", setup=SETUP, run=run, draw=draw
)
