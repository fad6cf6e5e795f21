"""What the nonholonomic systems of the paper do."""

from __future__ import annotations

import dalembert as da

from ...gallery import MobileRobot, NonholonomicParticle, Skate
from ..motion import Motion, motion_of


def particle() -> Motion:
    q0, v0 = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    run = da.simulate(NonholonomicParticle(), da.gauss_spark(2), q0, v0, t=(0.0, 20.0), h=0.02)
    return motion_of(
        run,
        "The nonholonomic particle",
        "It may move to every place, but at none of them in every direction: $v_3 = q_2 v_1$. Gauss SPARK, $s = 2$.",
        labels=("q₁", "q₂", "q₃"),
    )


def skate() -> Motion:
    run = da.simulate(Skate(), da.lobatto_spark(3, "AB"), [0.0] * 3, [0.0, 0.0, 1.0], t=(0.0, 12.0), h=0.02)
    return motion_of(
        run,
        "The skate on the inclined plane",
        "Downhill is to the right. It turns evenly and never slides sideways, and so does not run away: it walks along "
        "the slope in cycloids. Lobatto IIIA-B, $s = 3$.",
        labels=("q₁", "q₂"),
        trailing=(0,),
        colours=(0, 1),
    )


def robot() -> Motion:
    run = da.simulate(MobileRobot(), da.lobatto_spark(3, "ABD"), [0.0] * 4, [1.0, 0.0, 1.0, 1.0], t=(0.0, 14.0), h=0.02)
    return motion_of(
        run,
        "The mobile robot, turning",
        "With $v_3 = 1$ at the start the wheels roll back and forth in the potential $10 \\sin(q_4)$ while the robot "
        "turns. Lobatto IIIA-B-D, $s = 3$.",
        labels=("q₁", "q₂"),
        trailing=(0,),
        colours=(0, 1),
    )


MOTIONS = {"particle": particle, "skate": skate, "robot": robot}
