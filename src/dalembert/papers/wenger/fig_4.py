"""Figure 4: the error against the run time of the integrators with s = w = r = 1..6."""

import numpy as np

import dalembert as da

from ...gallery import Pendulum
from ...plots.style import new_figure, style
from ..experiment import Experiment, Result, judged
from . import PAPER
from .efficiency import SAVED, at_accuracy, costs, draw_costs, rows

SETUP = r"""
The planar pendulum with $m = l = 1$, gravity 9.81, from $q_0 = (\sin 1, -\cos 1)$, $p_0 = (\cos 1, \sin 1)$, to $t =
400$. Integrators with $s = w = r = 1, ..., 6$: Gauss rule of order $2r$ for the Lagrangian, so $q$ has the order $2s$.
The error is the largest one of $q$ over 100 times, against the exact motion; the time is the shortest of many runs of
compiled code, without what mending a first step takes that Newton does not find from the method's own guess.

The paper measures after whole periods. We do not: a pendulum that starts at rest is at rest again then, the first
order of any error in time drops out, and the observed order doubles. The momenta are projected, which leaves the
positions as they are. Since run times differ from machine to machine, the verdict rests on counted floating-point
operations.
"""
END, ACCURACY = 400.0, 1e-7
DEGREES = range(1, 7)
#: Numbers of steps by degree.
COUNTS = {
    1: (64_000, 128_000, 256_000, 512_000, 1_024_000, 2_048_000),
    2: (8000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000),
    3: (6400, 9600, 12_800, 19_200, 25_600, 38_400),
    4: (1600, 2400, 3200, 4800, 6400, 9600),
    5: (2600, 3000, 4000, 4800),
    6: (1200, 1400, 1600, 2000, 2400, 2800),
}
MARKERS = "os^Dvp"


def run(quick: bool) -> Result:
    system = Pendulum()
    start = system.start()
    exact = np.asarray(system.exact(np.linspace(0.0, END, SAVED + 1)).q)
    named = {}
    for s in DEGREES:
        named[f"s = {s}"] = costs(
            system, da.Galerkin(s), start.q0, start.v0, END, COUNTS[s], exact, 3.0 if quick else 15.0
        )
    operations = {name: at_accuracy(found, ACCURACY) for name, found in named.items()}
    seconds = {name: at_accuracy(found, ACCURACY, "seconds") for name, found in named.items()}
    gains = {name: operations["s = 1"] / value for name, value in operations.items() if name != "s = 1"}
    best = min(operations, key=lambda name: operations[name])
    claims = [
        judged(
            min(gains.values()) > 5,
            "Integrators of higher order reach a given accuracy with much less work than that of order 2.",
            f"operations for an error of {ACCURACY:g}, against s = 1: "
            + ", ".join(f"{name}: {value:.0f} times fewer" for name, value in gains.items())
            + "; run times "
            + ", ".join(f"{1e3 * value:.3g} ms" for value in seconds.values()),
        ),
        judged(
            operations["s = 1"] > operations["s = 2"] > operations["s = 3"] > operations["s = 4"],
            "With rising order a given accuracy takes less time.",
            f"fewest operations for {ACCURACY:g}: {best}; "
            + ", ".join(f"{name}: {value:.2e}" for name, value in operations.items()),
            note="From s = 4 on a step costs about what it saves, and where s is best depends on the accuracy.",
        ),
    ]
    summary = {
        "method": list(named),
        f"operations for {ACCURACY:g}": list(operations.values()),
        f"seconds for {ACCURACY:g}": list(seconds.values()),
    }
    return Result({"runs": rows(named), "summary": summary}, claims)


def draw(result: Result):
    with style():
        figure = new_figure(8.4, 4.8, ".")
        axes = figure.add_subplot()
        draw_costs(axes, result.data["runs"], {f"s = {s}": (s - 1, MARKERS[s - 1], "-") for s in DEGREES})
        axes.set_ylabel("largest error of $q$")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


EXPERIMENT = Experiment(
    name="wenger-fig-4",
    paper=PAPER,
    title="Error against run time for s = w = r = 1 to 6",
    setup=SETUP,
    run=run,
    draw=draw,
    alone=True,
)
