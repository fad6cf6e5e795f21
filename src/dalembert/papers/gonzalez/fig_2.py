"""Figure 2: the motion of the four particles, and what the scheme keeps."""

from typing import Any

import numpy as np

from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER
from .methods import METHODS, SETUP, kept, runs

SHOWN = (0.0, 2.5, 5.0, 7.5, 10.0)


def run(quick: bool) -> Result:
    motions = runs()
    found = {name: kept(one) for name, one in motions.items()}
    invariant, generic, level = found["invariant"], found["generic"], found["invariant, velocity level"]
    exact = ("energy", "linear momentum", "angular momentum")
    claims = [
        judged(
            all(invariant[key] < 1e-12 for key in exact) and invariant["g"] < 1e-14,
            "The scheme conserves constraints, energy, linear and angular momentum to the tolerance of the solver.",
            ", ".join(f"{key}: {invariant[key]:.1e}" for key in (*exact, "g")),
        ),
        judged(
            generic["energy"] < 1e-12 and min(generic["linear momentum"], generic["angular momentum"]) > 1e-6,
            "Momenta are conserved because the discrete derivative is equivariant.",
            "a midpoint derivative that is not keeps the energy to "
            f"{generic['energy']:.1e} but changes linear and angular momentum by {generic['linear momentum']:.1e} and "
            f"{generic['angular momentum']:.1e}",
        ),
        judged(
            all(level[key] < 1e-12 for key in (*exact, "g'")) and level["g"] < 1e-14,
            "The velocity constraints can be made to vanish too (the paper leaves this open).",
            "with a second multiplier: " + ", ".join(f"{key}: {level[key]:.1e}" for key in (*exact, "g", "g'")),
            note=r"The augmented Hamiltonian is $H + \lambda g + \gamma g'$, with equivariant discrete derivatives "
            "of all terms.",
        ),
    ]
    one = motions["invariant"]
    path = {"t": one.t, **{f"q{k // 3}{'xyz'[k % 3]}": one.q[:, k] for k in range(12)}}
    summary = {"method": list(METHODS)} | {key: [found[name][key] for name in METHODS] for key in invariant}
    return Result({"motion": path, "summary": summary}, claims)


def draw(result: Result):
    from matplotlib.ticker import MaxNLocator

    data = result.data["motion"]
    t = np.asarray(data["t"])
    q = np.stack([np.asarray(data[f"q{k // 3}{'xyz'[k % 3]}"]) for k in range(12)], axis=1).reshape(-1, 4, 3)
    with style():
        figure = new_figure(8.4, 6.4, ".")
        figure.set_layout_engine("none")  # axes in space and a key beside them are placed by hand
        axes: Any = figure.add_axes((0.02, 0.05, 0.68, 0.94), projection="3d")
        for k in range(4):
            axes.plot(*q[:, k].T, color=PALETTE[k], linewidth=1.2, alpha=0.9, label=f"particle {k + 1}")
        for number, time in enumerate(SHOWN):
            row = int(np.argmin(np.abs(t - time)))
            colour = GREY if number == 0 else "black"
            for pair in ((0, 1), (2, 3)):
                axes.plot(*q[row, list(pair)].T, color=colour, linewidth=2, linestyle=":" if number == 0 else "-")
        axes.plot([], [], [], color="black", linewidth=2, label="bars, $t = 2.5, 5, 7.5, 10$")
        axes.plot([], [], [], color=GREY, linewidth=2, linestyle=":", label="bars, $t = 0$")
        for axis, name in ((axes.xaxis, "$x$"), (axes.yaxis, "$y$"), (axes.zaxis, "$z$")):
            axis.set_major_locator(MaxNLocator(nbins=4))
            axis.set_label_text(name)
            axis.labelpad = 10
            axis.pane.set_facecolor("white")
        axes.set_box_aspect(np.ptp(q, axis=(0, 1)), zoom=0.93)
        figure.legend(loc="center left", bbox_to_anchor=(0.68, 0.5))
    return figure


EXPERIMENT = Experiment(
    name="gonzalez-fig-2", paper=PAPER, title="Motion of the four particles", setup=SETUP, run=run, draw=draw
)
