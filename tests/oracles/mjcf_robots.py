"""Ten robots as MJCF texts: arms, a hand, walkers with floating bases, closed loops. The numbers are made up; inertia
comes from the density of geoms, or is stated in axes of its own, and defaults, degrees and Euler angles are used as in
files that people write."""

from __future__ import annotations

import math

HEAD = """<mujoco model="{name}">
<compiler angle="{angle}" autolimits="true"/>
<option gravity="{gravity}"/>
<default>
  <geom contype="0" conaffinity="0" density="900"/>
  <joint armature="{armature}" damping="0"/>
  <default class="short"><joint range="-1.2 1.2"/></default>
</default>
<worldbody>
"""


def robot(name: str, bodies: str, more: str = "", *, angle="radian", gravity="0 0 -9.81", armature=0.0) -> str:
    """A file around bodies."""
    head = HEAD.format(name=name, angle=angle, gravity=gravity, armature=armature)
    return f"{head}{bodies}\n</worldbody>{more}\n</mujoco>"


def body(name: str, place: str, inside: str, more: str = "") -> str:
    """A body at a place; `more` are attributes such as euler="0 0 90"."""
    return f'<body name="{name}" pos="{place}" {more}>{inside}</body>'


def hinge(name: str, axis: str, more: str = "") -> str:
    return f'<joint name="{name}" type="hinge" axis="{axis}" {more}/>'


def slide(name: str, axis: str, more: str = "") -> str:
    return f'<joint name="{name}" type="slide" axis="{axis}" {more}/>'


def tube(start: str, end: str, radius: float, kind: str = "capsule") -> str:
    return f'<geom type="{kind}" fromto="{start}  {end}" size="{radius}"/>'


def nested(parts: list[tuple[str, str, str, str]]) -> str:
    """A chain: (name, place, what is in it besides the next, attributes)."""
    found = ""
    for name, place, inside, more in reversed(parts):
        found = body(name, place, inside + found, more)
    return found


def six_axis_arm() -> str:
    """An industrial arm, in degrees, with rotor inertias and offsets at every joint."""
    axes = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "1 0 0")
    places = ("0 0 0.2", "0.1 0.05 0.25", "0 0 0.5", "0.05 0 0.1", "0.45 0 0", "0.1 0 0.02")
    parts = [
        (f"link {k}", places[k], hinge(f"axis {k}", axes[k], 'range="-170 170"')
         + tube("0 0 0", "0.1 0.02 0.2", 0.06 - 0.006 * k), f'euler="{5 * k} {-3 * k} 2"')
        for k in range(6)
    ]  # fmt: skip
    return robot("SixAxis", nested(parts), angle="degree", armature=0.3)


def arm_with_gripper() -> str:
    """Seven hinges and two fingers on slides, the second of which follows the first."""
    fingers = body("left finger", "0.03 0 0.08", slide("left", "1 0 0") + '<geom type="box" size=".01 .01 .04"/>')
    fingers += body("right finger", "-0.03 0 0.08", slide("right", "-1 0 0") + '<geom type="box" size=".01 .02 .04"/>')
    axes = ("0 0 1", "0 1 0", "0 0 1", "0 -1 0", "0 0 1", "0 1 0", "0 0 1")
    parts = [
        (f"link {k}", "0.01 0 0.25" if k else "0 0 0.1", hinge(f"axis {k}", axes[k], 'ref="0.2"' if k == 3 else "")
         + tube("0 0 0", "0 0.01 0.2", 0.05), "")
        for k in range(7)
    ]  # fmt: skip
    parts[-1] = (parts[-1][0], parts[-1][1], parts[-1][2] + fingers, "")
    tie = '<equality><joint name="grip" joint1="right" joint2="left" polycoef="0 1 0 0 0"/></equality>'
    return robot("ArmWithGripper", nested(parts), tie)


def scara() -> str:
    """Two hinges, a slide with a spring, and a hinge; the tool is a body without a joint."""
    tool = body(
        "tool", "0 0.02 -0.05", '<inertial pos="0 0 -0.03" mass="0.3" fullinertia="2e-3 3e-3 2.5e-3 1e-4 2e-4 -3e-4"/>'
    )
    parts = [
        ("shoulder", "0 0 0.5", hinge("one", "0 0 1") + tube("0 0 0", "0.4 0 0", 0.05), ""),
        ("elbow", "0.4 0 0.05", hinge("two", "0 0 1", 'pos="0.01 0 0"') + tube("0 0 0", "0.3 0 0", 0.04), ""),
        ("spindle", "0.3 0 0", slide("lift", "0 0 1", 'stiffness="400" springref="0.1"')
         + hinge("wrist", "0 0 1") + tube("0 0 -0.1", "0 0 0.1", 0.02, "cylinder") + tool, ""),
    ]  # fmt: skip
    return robot("Scara", nested(parts), gravity="0.5 0 -9.81")


def two_arms() -> str:
    """A torso that turns and leans, with two mirrored arms of four hinges and a head."""

    def arm(side: str, y: int) -> str:
        axes = ("0 1 0", "1 0 0", "0 0 1", "0 1 0")
        places = (f"0 {0.25 * y} 0.4", "0 0 0", f"0 {0.02 * y} -0.15", "0 0 -0.2")
        return nested([(f"{side} {k}", places[k], hinge(f"{side} joint {k}", axes[k])
                        + tube("0 0 0", f"0.01 {0.01 * y} -0.18", 0.04), "") for k in range(4)])  # fmt: skip

    head = body("head", "0 0 0.55", hinge("nod", "0 1 0") + '<geom type="ellipsoid" size=".08 .1 .12"/>')
    torso = hinge("turn", "0 0 1") + hinge("lean", "0 1 0") + '<geom type="box" size=".1 .2 .3" pos="0 0 .25"/>'
    return robot("TwoArms", body("torso", "0 0 0.8", torso + arm("left", 1) + arm("right", -1) + head))


def hand() -> str:
    """A palm on a hinge, four fingers with two-axis knuckles and two more hinges, and a thumb; 21 freedoms."""
    fingers = ""
    for k, name in enumerate(("index", "middle", "ring", "little", "thumb")):
        angle = 0.15 * (k - 1.5) if name != "thumb" else -1.1
        place = f"{0.05 * math.sin(angle):.6f} {0.02 * (k - 1.5):.6f} {0.09 * math.cos(angle):.6f}"
        size = 0.045 - 0.004 * k
        knuckle = hinge(f"{name} spread", "1 0 0", 'class="short"') + hinge(f"{name} bend", "0 1 0", 'class="short"')
        parts = [
            (f"{name} 0", place, knuckle + tube("0 0 0", f"0 0 {size}", 0.009), f'euler="{angle:.6f} 0 0.1"'),
            (f"{name} 1", f"0 0 {size}", hinge(f"{name} middle", "0 1 0") + tube("0 0 0", f"0 0 {size}", 0.008), ""),
            (f"{name} 2", f"0 0 {size}", hinge(f"{name} tip", "0 1 0") + tube("0 0 0", "0 0 0.02", 0.007), ""),
        ]
        fingers += nested(parts)
    palm = hinge("wrist", "0 1 0") + '<geom type="box" size=".012 .04 .045" pos="0 0 .045"/>' + fingers
    return robot("Hand", body("palm", "0 0 0.3", palm), armature=1e-4)


def quadruped() -> str:
    """A floating trunk with four legs of three hinges."""
    legs = ""
    for name, x, y in (("fl", 1, 1), ("fr", 1, -1), ("rl", -1, 1), ("rr", -1, -1)):
        legs += nested([
            (f"{name} hip", f"{0.2 * x} {0.06 * y} 0", hinge(f"{name} spread", "1 0 0")
             + tube("0 0 0", f"0 {0.06 * y} 0", 0.04), ""),
            (f"{name} thigh", f"0 {0.08 * y} 0", hinge(f"{name} swing", "0 1 0")
             + tube("0 0 0", "-0.1 0 -0.18", 0.025), ""),
            (f"{name} shank", "-0.1 0 -0.18", hinge(f"{name} knee", "0 1 0") + tube("0 0 0", "0.1 0 -0.2", 0.015), ""),
        ])  # fmt: skip
    trunk = '<freejoint name="root"/><geom type="box" size=".25 .1 .06" pos=".01 0 .02"/>'
    return robot("Quadruped", body("trunk", "0 0 0.5", trunk + legs))


def humanoid() -> str:
    """A floating pelvis and 29 hinges: 30 bodies."""

    def limb(name: str, place: str, axes: str, step: str, radius: float, thin: float) -> list:
        kinds = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
        return [(f"{name} {k}", place if k == 0 else step, hinge(f"{name} joint {k}", kinds[axis])
                 + tube("0 0 0", step, radius - thin * k), "") for k, axis in enumerate(axes)]  # fmt: skip

    legs = "".join(
        nested(limb(side, f"0.01 {0.1 * y} -0.05", "zxyyyx", f"0.01 {0.005 * y} -0.15", 0.06, 0.006))
        for side, y in (("left leg", 1), ("right leg", -1))
    )
    arms = "".join(
        nested(limb(side, f"0 {0.18 * y} 0.2", "yxzyzyx", f"0.01 {0.03 * y} -0.09", 0.045, 0.004))
        for side, y in (("left arm", 1), ("right arm", -1))
    )
    spine = limb("spine", "0 0 0.08", "zyx", "0 0.002 0.07", 0.08, 0.005)
    spine[-1] = (spine[-1][0], spine[-1][1], spine[-1][2] + arms, "")
    pelvis = '<freejoint name="root"/><geom type="ellipsoid" size=".1 .14 .08"/>'
    return robot("Humanoid", body("pelvis", "0 0 1", pelvis + legs + nested(spine)))


def biped_with_rods() -> str:
    """A floating pelvis on two legs whose ankles are held by push rods: balls, and loops that connect points."""
    legs, ties = "", ""
    for name, y in (("left", 1), ("right", -1)):
        foot = body(
            f"{name} foot", "0.1 0 -0.4", hinge(f"{name} ankle", "0 1 0") + '<geom type="box" size=".1 .03 .01"/>'
        )
        rod = body(
            f"{name} rod",
            "-0.08 0 -0.05",
            f'<joint name="{name} ball" type="ball"/>' + tube("0 0 0", "0.08 0 -0.38", 0.01),
        )
        shank = body(
            f"{name} shank",
            "-0.1 0 -0.35",
            hinge(f"{name} knee", "0 1 0") + tube("0 0 0", "0.1 0 -0.4", 0.03) + foot + rod,
        )
        legs += body(
            f"{name} thigh",
            f"0 {0.12 * y} 0",
            f'<joint name="{name} hip" type="ball"/>' + tube("0 0 0", "-0.1 0 -0.35", 0.05) + shank,
        )
        ties += f'<connect name="{name} tie" body1="{name} rod" body2="{name} foot" anchor="0.08 0 -0.38"/>'
    pelvis = '<freejoint name="root"/><geom type="box" size=".08 .15 .1"/>'
    return robot("Biped", body("pelvis", "0 0 1", pelvis + legs), f"<equality>{ties}</equality>")


def delta_robot() -> str:
    """Three arms on hinges, rods on universal joints (two hinges), and a platform on three slides that they carry."""
    arms, ties = "", ""
    for k in range(3):
        rod = body(
            f"rod {k}",
            "0.3 0 0",
            hinge(f"across {k}", "0 1 0") + hinge(f"along {k}", "1 0 0") + tube("0 0 0", "-0.1 0 -0.4", 0.01),
        )
        shoulder = hinge(f"shoulder {k}", "0 1 0", 'pos="0.1 0 0"') + tube("0.1 0 0", "0.3 0 0", 0.02)
        arms += body(f"arm {k}", "0 0 0", shoulder + rod, f'euler="0 0 {120 * k}"')
        ties += f'<connect name="tie {k}" body1="rod {k}" body2="platform" anchor="-0.1 0 -0.4"/>'
    slides = "".join(
        slide(f"slide {axis}", direction) for axis, direction in (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1"))
    )
    platform = body("platform", "0 0 -0.4", slides + '<geom type="cylinder" size="0.12 0.01"/>')
    return robot("Delta", arms + platform, f"<equality>{ties}</equality>", angle="degree")


def linkage() -> str:
    """A six-bar linkage: two loops in a plane, closed by points, with a rotor."""

    def bar(length: float) -> str:
        return tube("0 0 0", f"{length} 0 0", 0.02)

    coupler = body(
        "coupler", "0.5 0 0", hinge("B", "0 -1 0") + bar(1.5) + body("dyad", "1.5 0 0", hinge("E", "0 -1 0") + bar(0.8))
    )
    crank = body("crank", "0 0 0", hinge("A", "0 -1 0", 'armature="0.2"') + bar(0.5) + coupler)
    rocker = body("rocker", "1.6 0 0", hinge("D", "0 -1 0") + bar(1.0), 'euler="0 -1.4 0"')
    follower = body("follower", "2.6 0 0", hinge("F", "0 -1 0") + bar(0.6), 'euler="0 -2 0"')
    ties = '<connect name="C" body1="rocker" body2="coupler" anchor="1.0 0 0"/>'
    ties += '<connect name="G" body1="follower" body2="dyad" anchor="0.6 0 0"/>'
    return robot("SixBar", crank + rocker + follower, f"<equality>{ties}</equality>")


ROBOTS = {
    function.__name__.replace("_", " "): function()
    for function in (
        six_axis_arm, arm_with_gripper, scara, two_arms, hand, quadruped, humanoid, biped_with_rods, delta_robot,
        linkage,
    )
}  # fmt: skip
