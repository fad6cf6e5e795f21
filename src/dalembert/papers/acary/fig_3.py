"""Figure 3: work and precision of Moreau's scheme, with constant steps and with the heuristic step control."""

import numpy as np

import dalembert as da

from ...plots.series import label_few_decades
from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER
from .problems import END, PROBLEMS, SETUP, exact_q, impact_times

#: With theta = 1/2 the free flight of the ball is exact and its estimate zero; theta = 1 has an error that (61) sees.
METHODS = {"oscillator": da.MoreauJean(theta=0.5), "ball": da.MoreauJean(theta=1.0)}
STEPS = (211, 401, 809, 1601, 3203, 6421, 12697, 25423)
TOLERANCES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
#: The first step, and the largest one: it is reached by the ball at rest only, so that the estimate alone decides.
FIRST, LARGEST = 1e-3, 0.5
#: The tolerance of the run whose steps are shown.
SHOWN_TOLERANCE = 1e-3
MORE = (
    " Step control by $e = q_{1/2} - q_1$ with the factors $\\alpha_{\\min} = 1/2$, $\\alpha_{\\max} = 5$, "
    "$\\alpha = 1$; work is counted in evaluations of the forces. The oscillator has $\\theta = 1/2$, the ball "
    "$\\theta = 1$: with $\\theta = 1/2$ its free flight would be exact, and its estimate zero. No step is limited by "
    "a largest one while anything moves. On the right the steps of two runs with the tolerance $10^{-3}$, and the "
    "impacts."
)


def controlled(tolerance: float, event_aware: bool) -> da.Adaptive:
    """The step control at one tolerance."""
    return da.Adaptive(tolerance, tolerance, FIRST, LARGEST, event_aware=event_aware)


def simulated(problem: str, h):
    """One run."""
    return da.simulate(PROBLEMS[problem], METHODS[problem], q0=[1.0], v0=[0.0], t=(0.0, END), h=h)


def measured(problem: str, h) -> tuple[float, float]:
    """Evaluations of the forces, and the error of q in L1."""
    run = simulated(problem, h)
    difference = np.abs(run.q[:, 0] - exact_q(PROBLEMS[problem], run.t))
    error = float(np.sum(np.diff(run.t) * (difference[1:] + difference[:-1]) / 2))
    return float(run.stats.get("force_evaluations", run.stats["newton_iterations"])), error


def run(quick: bool) -> Result:
    count = 6 if quick else len(STEPS)
    data = {}
    for name in METHODS:
        kinds = {
            "constant": [END / steps for steps in STEPS[:count]],
            "adaptive": [controlled(a, False) for a in TOLERANCES[:count]],
            "event-aware": [controlled(a, True) for a in TOLERANCES[:count]],
        }
        columns = {}
        for kind, sizes in kinds.items():
            found = [measured(name, h) for h in sizes]
            columns |= {f"{kind}: work": [w for w, _ in found], f"{kind}: error": [e for _, e in found]}
        data[name] = columns
    for kind, aware in (("adaptive", False), ("event-aware", True)):
        t = simulated("oscillator", controlled(SHOWN_TOLERANCE, aware)).t
        data[f"steps, {kind}"] = {"t": t[:-1], "h": np.diff(t)}
    gains = {name: _work_ratio(table) for name, table in data.items() if name in METHODS}
    ball = data["ball"]["adaptive: error"]
    claims = [
        judged(
            gains["oscillator"] > 1,
            "On the oscillator the step control reaches reasonable accuracy without a huge effort.",
            f"at one error constant steps need {gains['oscillator']:.1f} times the work of the event-aware control",
        ),
        judged(
            min(ball) < 0.15 * max(ball),
            "On the ball the step control reaches a reasonable accuracy too.",
            f"errors from {max(ball):.1e} to {min(ball):.1e}; at one error constant steps need {gains['ball']:.1f} "
            "times the work of the event-aware control",
            correction="With θ = 1/2 free flight is exact and its estimate zero, so that a largest step would decide; "
            "with θ = 1 the estimate does. On this motion, which is as fast everywhere, it saves nothing.",
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
        figure = new_figure(12.4, 4.4, ".")
        panels = figure.subplots(1, 3)
        for axes, name in zip(panels, METHODS, strict=False):
            data = result.data[name]
            for colour, marker, kind in zip(PALETTE, "x+s", ("constant", "adaptive", "event-aware"), strict=False):
                axes.loglog(
                    data[f"{kind}: error"], data[f"{kind}: work"], marker + "-", color=colour, label=kind,
                    markerfacecolor="none", markersize=7,
                )  # fmt: skip
            label_few_decades(axes.xaxis)
            label_few_decades(axes.yaxis)
            axes.set_title(name)
            axes.set_xlabel(r"error of $q$ in $L^1$")
        panels[0].set_ylabel("evaluations of the forces")
        for colour, kind in zip(PALETTE[1:], ("adaptive", "event-aware"), strict=False):
            steps = result.data[f"steps, {kind}"]
            panels[2].step(steps["t"], steps["h"], where="post", color=colour)
        panels[2].set_yscale("log")
        for time in impact_times(PROBLEMS["oscillator"]):
            panels[2].axvline(time, color=GREY, linestyle=":", linewidth=1.2, zorder=0)
        panels[2].plot([], [], color=GREY, linestyle=":", label="impacts")
        panels[2].set_title("steps on the oscillator")
        panels[2].set_xlabel("$t$")
        panels[2].set_ylabel("$h$")
        panels[2].set_xlim(0, END)
        handles, labels = (a + b for a, b in zip(*(p.get_legend_handles_labels() for p in panels[[0, 2]]), strict=True))
        figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


EXPERIMENT = Experiment(
    name="acary-fig-3",
    paper=PAPER,
    title="Work and precision of Moreau's scheme with step control",
    setup=SETUP + MORE,
    run=run,
    draw=draw,
)
