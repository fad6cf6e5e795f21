"""Figure 8.3: the mobile robot with Lobatto IIIA-B-D SPARK methods."""

import numpy as np

import dalembert as da

from ...gallery import MobileRobot
from ..energy import draw_energy_panels, summary
from ..experiment import Experiment, Result, judged
from . import PAPER
from .bounded_energy import bounded_claim, compute, curves_of, table

SETUP = r"""
A robot on wheels with $m = I = I_\omega = \ell = 1$: $T = (v_1^2 + v_2^2 + v_3^2 + 3 v_4^2) / 2$, $U = 10 \sin(q_4)$,
and rolling without slipping: $v_1 = \cos(q_3) v_4$, $v_2 = \sin(q_3) v_4$.

Lobatto IIIA-B-D SPARK methods with $s = 2, 3, 4$ stages and $h = 0.2$ run over $[0, 150]$; the full version over an
interval 40 times longer. As printed the robot starts at the origin with $v_0 = (1, 0, 0, 1)$. Then $q_3$ stays zero,
the constraints are constant, and IIIA-B-D cannot be told from IIIA-B. The second column starts with $v_3 = 1$, so that
the robot turns ($E_0 = 5/2$).
"""
END, STEP = 150.0, 0.2
STAGES = (2, 3, 4)
STARTS = {"as printed, $v_3(0) = 0$": [1.0, 0.0, 0.0, 1.0], "turning, $v_3(0) = 1$": [1.0, 0.0, 1.0, 1.0]}
KEYS = ("printed start", "turning")


def difference_to_pair(v0) -> float:
    """The largest difference in q and v between IIIA-B-D and IIIA-B with two to four stages."""
    largest = 0.0
    for s in STAGES:
        first, second = (
            da.simulate(MobileRobot(), da.lobatto_spark(s, kind), [0.0] * 4, v0, t=(0.0, 30.0), h=STEP)
            for kind in ("ABD", "AB")
        )
        for name in ("q", "v"):
            largest = max(largest, float(np.max(np.abs(getattr(first, name) - getattr(second, name)))))
    return largest


def run(quick: bool) -> Result:
    result, differences = Result(), []
    for key, (title, v0) in zip(KEYS, STARTS.items(), strict=True):
        methods = {f"$s = {s}$, {title}": da.lobatto_spark(s, "ABD") for s in STAGES}
        curves, found = compute(MobileRobot(), methods, [0.0] * 4, v0, END, STEP, quick)
        named = {f"s = {s}": one for s, one in zip(STAGES, found.values(), strict=True)}
        result.data[f"energy error, {key}"] = table(curves)
        result.data[f"summary, {key}"] = summary(named)
        what = f"the Lobatto IIIA-B-D methods with 2, 3 and 4 stages on the robot ({key})"
        result.claims.append(bounded_claim(what, named, END, quick))
        differences.append(difference_to_pair(v0))
    result.claims.append(
        judged(
            differences[0] < 1e-11 and differences[1] > 1e-6,
            "The figure shows the methods IIIA-B-D.",
            f"largest difference to IIIA-B over [0, 30]: {differences[0]:.1e} with the printed start, "
            f"{differences[1]:.1e} with v₃(0) = 1",
            correction="With the printed start the constraints are constant and the figure would look the same with "
            "IIIA-B; starting with v₃(0) = 1 tells them apart.",
        )
    )
    return result


def draw(result: Result):
    curves = {}
    for key in KEYS:
        curves |= curves_of(result.data[f"energy error, {key}"])
    return draw_energy_panels(curves, columns=2)


EXPERIMENT = Experiment(
    name="jay-fig-8.3",
    paper=PAPER,
    title="Energy error of Lobatto IIIA-B-D SPARK on the mobile robot",
    setup=SETUP,
    run=run,
    draw=draw,
)
