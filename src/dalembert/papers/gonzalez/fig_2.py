"""Figure 2: the motion of the four particles, and what the scheme keeps."""

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
            "Ideally the velocity constraints would vanish too (the paper leaves this open).",
            "with a second multiplier: " + ", ".join(f"{key}: {level[key]:.1e}" for key in (*exact, "g", "g'")),
            note="The augmented Hamiltonian is H + lam g + gam g', with equivariant discrete derivatives of all terms.",
        ),
    ]
    one = motions["invariant"]
    path = {"t": one.t, **{f"q{k // 3}{'xyz'[k % 3]}": one.q[:, k] for k in range(12)}}
    summary = {"method": list(METHODS)} | {key: [found[name][key] for name in METHODS] for key in invariant}
    return Result({"motion": path, "summary": summary}, claims)


def draw(result: Result):
    data = result.data["motion"]
    t = np.asarray(data["t"])
    q = np.stack([np.asarray(data[f"q{k // 3}{'xyz'[k % 3]}"]) for k in range(12)], axis=1).reshape(-1, 4, 3)
    with style():
        figure = new_figure(6.8, 5.4, ".")
        axes = figure.add_subplot(projection="3d")
        for k in range(4):
            axes.plot(*q[:, k].T, color=PALETTE[k], linewidth=0.6, alpha=0.8)
        for number, time in enumerate(SHOWN):
            row = int(np.argmin(np.abs(t - time)))
            colour = GREY if number == 0 else "black"
            for pair in ((0, 1), (2, 3)):
                axes.plot(*q[row, list(pair)].T, color=colour, linewidth=2, linestyle=":" if number == 0 else "-")
        axes.set_xlabel("$x$")
        axes.set_ylabel("$y$")
        axes.set_zlabel("$z$")
        axes.set_box_aspect(None, zoom=0.85)  # pyright: ignore[reportArgumentType]
    return figure


EXPERIMENT = Experiment(
    name="gonzalez-fig-2", paper=PAPER, title="Motion of the four particles", setup=SETUP, run=run, draw=draw
)
