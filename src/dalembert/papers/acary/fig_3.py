"""Figure 3: work and precision of Moreau's scheme, with constant steps and with the heuristic step control."""

import numpy as np

import dalembert as da

from ...plots.series import label_few_decades
from ...plots.style import PALETTE, new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER
from .problems import END, PROBLEMS, SETUP, exact_q

SHOWN = ("oscillator", "ball")
STEPS = (211, 401, 809, 1601, 3203, 6421, 12697, 25423)
TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)


def largest_step(problem: str, tolerance: float) -> float:
    """On the oscillator one that no step reaches, so that the estimate (61) alone decides. It is zero in the free
    flight of the ball: without a cap the steps would grow beyond its bounces."""
    return 0.5 if problem == "oscillator" else min(0.1, 2 * tolerance**0.5)


def controlled(problem: str, tolerance: float, event_aware: bool) -> da.Adaptive:
    """The step control at one tolerance; it starts with a step that it may take."""
    largest = largest_step(problem, tolerance)
    return da.Adaptive(tolerance, tolerance, min(1e-2, largest), largest, event_aware=event_aware)


def measured(system, h) -> tuple[float, float]:
    """Evaluations of the forces, and the error of q in L1."""
    run = da.simulate(system, da.MoreauJean(), q0=[1.0], v0=[0.0], t=(0.0, END), h=h)
    difference = np.abs(run.q[:, 0] - exact_q(system, run.t))
    error = float(np.sum(np.diff(run.t) * (difference[1:] + difference[:-1]) / 2))
    return float(run.stats.get("force_evaluations", run.stats["newton_iterations"])), error


def run(quick: bool) -> Result:
    count = 6 if quick else len(STEPS)
    data = {}
    for name in SHOWN:
        system = PROBLEMS[name]
        kinds = {
            "constant": [END / steps for steps in STEPS[:count]],
            "adaptive": [controlled(name, a, False) for a in TOLERANCES[:count]],
            "event-aware": [controlled(name, a, True) for a in TOLERANCES[:count]],
        }
        columns = {}
        for kind, sizes in kinds.items():
            found = [measured(system, h) for h in sizes]
            columns |= {f"{kind}: work": [w for w, _ in found], f"{kind}: error": [e for _, e in found]}
        data[name] = columns
    ratio = _work_ratio(data["oscillator"])
    ball = data["ball"]["adaptive: error"]
    claims = [
        judged(
            ratio > 1,
            "On the oscillator the step control reaches reasonable accuracy without a huge effort.",
            f"at one error constant steps need {ratio:.1f} times the work of the event-aware control",
        ),
        judged(
            min(ball) < 0.1 * max(ball),
            "On the ball the step control reaches a reasonable accuracy too.",
            f"errors from {max(ball):.1e} to {min(ball):.1e}",
            correction="Free flight is exact and its estimate zero: a largest step is needed, here twice the root of "
            "the tolerance, and it decides the error.",
        ),
    ]
    return Result(data, claims)


def _work_ratio(data) -> float:
    """Work of constant steps over that of the control, at the smallest error that both reach."""
    target = max(min(data["constant: error"]), min(data["event-aware: error"]))

    def work(kind):
        return min(
            w for w, e in zip(data[f"{kind}: work"], data[f"{kind}: error"], strict=True) if e <= 1.0001 * target
        )

    return work("constant") / work("event-aware")


def draw(result: Result):
    with style():
        figure = new_figure(8.4, 4.2, ".")
        for number, name in enumerate(SHOWN):
            data = result.data[name]
            axes = figure.add_subplot(1, 2, number + 1)
            for colour, marker, kind in zip(PALETTE, "x+s", ("constant", "adaptive", "event-aware"), strict=False):
                wide = {"markersize": 9, "markerfacecolor": "none", "linewidth": 3.5, "alpha": 0.6, "zorder": 1.5}
                extra = wide if kind == "event-aware" else {}  # on the ball both controls take the same steps
                axes.loglog(
                    data[f"{kind}: error"], data[f"{kind}: work"], marker + "-", color=colour, label=kind, **extra
                )
            label_few_decades(axes.xaxis)
            label_few_decades(axes.yaxis)
            axes.set_title(name)
            axes.set_xlabel(r"error of $q$ in $L^1$")
            if number == 0:
                axes.set_ylabel("evaluations of the forces")
            else:
                axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


EXPERIMENT = Experiment(
    name="acary-fig-3",
    paper=PAPER,
    title="Work and precision of Moreau's scheme with step control",
    setup=SETUP
    + " Step control by $e = q_{1/2} - q_1$ with the factors $\\alpha_{\\min} = 1/2$, $\\alpha_{\\max} = 5$, "
    "$\\alpha = 1$; work is counted in evaluations of the forces. On the oscillator no step reaches the "
    "largest one, 0.5.",
    run=run,
    draw=draw,
)
