"""Mechanisms as `Multibody` models: `mechanism("stewart-platform")` gives the model and a start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..multibody import (
    Box,
    Capsule,
    Cylinder,
    Distance,
    Multibody,
    PointOnLine,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    Universal,
)
from ..multibody.vectors import frame_with_axis


class Mechanism(NamedTuple):
    """A model, what `model.assemble` is given for a start, and an end time and step size that show the motion."""

    model: Multibody
    start: dict[str, Any]
    t_end: float
    h: float


def four_bar() -> Mechanism:
    """Crank 1, coupler 3, rocker 2.5 on a base of 3.5: the crank turns round, the rocker swings."""
    model = Multibody(gravity=(0, -9.81, 0), name="FourBar")
    crank = model.body("crank", density=100, shape=Box((1, 0.1, 0.1), at=(0.5, 0, 0)), rotation=(0, 0, np.pi / 3))
    coupler = model.body("coupler", density=100, shape=Box((3, 0.1, 0.1), at=(1.5, 0, 0)), rotation=(0, 0, 0.7))
    rocker = model.body("rocker", density=100, shape=Box((2.5, 0.1, 0.1), at=(1.25, 0, 0)), rotation=(0, 0, 1.9))
    model.joint("A", model.ground, crank, Revolute("z"), at=(0, 0, 0))
    model.joint("B", crank.point(1, 0, 0), coupler, Revolute("z"))
    model.joint("D", model.ground, rocker, Revolute("z"), at=(3.5, 0, 0))
    model.joint("C", coupler.point(3, 0, 0), rocker.point(2.5, 0, 0), PointOnLine("z"))
    return Mechanism(model, {"rates": {"A": 4.0}}, 10.0, 0.005)


def bricard() -> Mechanism:
    """Six hinges at right angles: one degree of freedom, where counting gives none (IFToMM benchmark A04)."""
    corners = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    model = Multibody(gravity=(0, -9.81, 0), name="Bricard")
    before = model.ground
    for k in range(5):
        size = tuple(np.where(corners[k + 1] != corners[k], 1.0, 0.1).tolist())
        bar = model.body(f"bar {k + 1}", density=100.0, shape=Box(size), at=(corners[k] + corners[k + 1]) / 2)
        model.joint(f"hinge {k + 1}", before, bar, Revolute("yzxyz"[k]), at=corners[k])
        before = bar
    model.joint("hinge 6", before, model.ground, Revolute("x"), at=corners[5])
    return Mechanism(model, {}, 10.0, 0.01)


def stewart_platform() -> Mechanism:
    """A platform on six telescopic legs with springs and dampers: universal joints below, spherical ones above."""
    model = Multibody(name="StewartPlatform")
    platform = model.body("platform", density=200, shape=Cylinder(0.5, 0.05), at=(0, 0, 1.0))
    for k in range(6):
        low, high = (np.pi / 3 * (k // 2 * 2) + s * (1 if k % 2 else -1) for s in (0.9, 0.2))
        a, b = np.array([np.cos(low), np.sin(low), 0.0]), np.array([0.5 * np.cos(high), 0.5 * np.sin(high), 1.0])
        length = float(np.linalg.norm(b - a))
        axes = frame_with_axis((b - a) / length)
        half = {"rotation": axes, "density": 1000.0}
        lower = model.body(f"lower {k + 1}", shape=Cylinder(0.03, length / 2, at=(0, 0, length / 4)), at=a, **half)
        upper = model.body(f"upper {k + 1}", shape=Cylinder(0.02, length / 2, at=(0, 0, -length / 4)), at=b, **half)
        model.joint(f"base {k + 1}", model.ground, lower, Universal(axes[:, 0], axes[:, 1]), at=a)
        model.joint(f"leg {k + 1}", lower, upper, Prismatic(axes[:, 2]), at=b, stiffness=2e4, damping=50.0)
        model.joint(f"top {k + 1}", upper, platform, Spherical(), at=b)
    return Mechanism(model, {"spin": {"platform": (0, 0, 1.0)}}, 2.0, 0.002)


def delta_robot() -> Mechanism:
    """Three arms carry a platform by pairs of parallel rods, which keep it level; the rods have no mass."""
    model = Multibody(name="DeltaRobot")
    platform = model.body("platform", density=2000, shape=Cylinder(0.1, 0.02), at=(0, 0, -0.5))
    for k in range(3):
        angle = 2 * np.pi * k / 3
        out, side = np.array([np.cos(angle), np.sin(angle), 0]), np.array([-np.sin(angle), np.cos(angle), 0])
        axes = np.stack([out, side, [0, 0, 1]], axis=1)
        arm = model.body(f"arm {k + 1}", density=2000, shape=Box((0.2, 0.03, 0.03), at=(0.1, 0, 0)), at=0.2 * out,
                         rotation=axes)  # fmt: skip
        model.joint(f"shoulder {k + 1}", model.ground, arm, Revolute(side), damping=0.02)
        for sign, name in ((-1, "left"), (1, "right")):
            ends = arm.point(0.2, 0.05 * sign, 0), platform.point(*(0.1 * out + 0.05 * sign * side))
            model.joint(f"{name} rod {k + 1}", *ends, Distance())
    return Mechanism(model, {"rates": {"shoulder 1": 1.0}}, 2.0, 0.001)


def heavy_top() -> Mechanism:
    """The benchmark of Bruels, Cardona and Arnold (doi:10.1016/j.mechmachtheory.2011.07.017), whose inertia is a
    disc's."""
    model = Multibody(name="HeavyTop")
    top = model.body("top", mass=15.0, inertia=(0.234375, 0.46875, 0.234375), com=(0, 1, 0), shape=[
        Cylinder(0.25, 0.02, at=(0, 1, 0), rotation=(np.pi / 2, 0, 0)),
        Cylinder(0.01, 1.0, at=(0, 0.5, 0), rotation=(np.pi / 2, 0, 0)),
    ])  # fmt: skip
    model.joint("tip", model.ground, top, Spherical(), at=(0, 0, 0))
    return Mechanism(model, {"spin": {"top": (0, 150, -4.61538)}}, 1.0, 1e-3)


def _ring(radius: float, first, second, pieces: int = 24) -> list[Capsule]:
    """A thin ring in the plane of two unit vectors, of straight pieces."""
    side, found = 2 * radius * np.tan(np.pi / pieces), []
    for angle in 2 * np.pi * np.arange(pieces) / pieces:
        out = np.cos(angle) * np.array(first) + np.sin(angle) * np.array(second)
        along = np.cos(angle) * np.array(second) - np.sin(angle) * np.array(first)
        found.append(Capsule(0.04 * radius, side, at=tuple(radius * out), rotation=tuple(frame_with_axis(along))))
    return found


def gyroscope() -> Mechanism:
    """A wheel in two gimbals that turn about axes at right angles."""
    model = Multibody(name="Gyroscope")
    outer = model.body(
        "outer gimbal", 0.2, (0.002, 0.001, 0.001), shape=_ring(0.08, (1, 0, 0), (0, 0, 1)), at=(0, 0, 0)
    )
    inner = model.body(
        "inner gimbal", 0.1, (0.0005, 0.0008, 0.0005), shape=_ring(0.065, (1, 0, 0), (0, 1, 0)), at=(0, 0, 0)
    )
    wheel = model.body("wheel", density=7800, shape=Cylinder(0.05, 0.01), at=(0, 0, 0), rotation=(np.pi / 2, 0, 0))
    model.joint("outer", model.ground, outer, Revolute("z"))
    model.joint("inner", outer, inner, Revolute("x"))
    model.joint("wheel axle", inner, wheel, Revolute("y"))
    weight = model.body("weight", 0.05, (0, 0, 0), shape=Sphere(0.008), at=(0, 0.1, 0))
    model.weld(inner, weight)
    return Mechanism(model, {"rates": {"wheel axle": 300.0}}, 2.0, 2e-4)


def dzhanibekov() -> Mechanism:
    """A free body that turns about its middle axis, and turns over again and again."""
    model = Multibody(gravity=(0, 0, 0), name="Dzhanibekov")
    model.body("wing nut", density=1000, shape=Box((0.3, 0.2, 0.05)), at=(0, 0, 0))
    return Mechanism(model, {"spin": {"wing nut": (1e-3, 5.0, 1e-3)}}, 20.0, 0.01)


def tippe_top() -> Mechanism:
    """A ball whose centre of mass lies below its middle, spun fast on a rough floor: it turns upside down."""
    model = Multibody(name="TippeTop")
    top = model.body("top", mass=0.006, inertia=(8e-7, 8e-7, 7e-7), com=(0, 0, -0.003), shape=Sphere(0.015),
                     at=(0, 0, 0.015), rotation=(0.1, 0, 0))  # fmt: skip
    model.contact(top, model.plane(), friction=0.3)
    return Mechanism(model, {"spin": {"top": (0, 0, 150.0)}}, 4.0, 2e-4)


def rolling_disc() -> Mechanism:
    """A thin disc that rolls without slipping and leans over."""
    model, lean = Multibody(name="RollingDisc"), np.pi / 8
    disc = model.disc("disc", 1.0, 1.0, axis="y", at=(0, 0, np.cos(lean)), rotation=(lean, 0, 0))
    model.rolling("floor", disc, model.plane())
    return Mechanism(model, {"spin": {"disc": (0, 4.0, 0.5)}}, 10.0, 0.01)


def bicycle(speed: float = 5.0) -> Mechanism:
    """Whipple's bicycle with the data of Meijaard, Papadopoulos, Ruina and Schwab (doi:10.1098/rspa.2007.1857), z up:
    it steers itself and stays upright between 4.3 and 6.0 m/s."""
    model, tilt = Multibody(name="Bicycle"), np.pi / 10
    frame = model.body("frame", 85.0, (9.2, 11.0, 2.8, 0, -2.4, 0), at=(0.3, 0, 0.9))
    fork = model.body("fork", 4.0, (0.05892, 0.06, 0.00708, 0, 0.00756, 0), at=(0.9, 0, 0.7))
    rims = [Cylinder(radius, 1e-9, rotation=(np.pi / 2, 0, 0)) for radius in (0.3, 0.35)]
    rear = model.body("rear wheel", 2.0, (0.0603, 0.12, 0.0603), shape=rims[0], at=(0, 0, 0.3))
    front = model.body("front wheel", 3.0, (0.1405, 0.28, 0.1405), shape=rims[1], at=(1.02, 0, 0.35))
    # the steering axis meets the ground 0.08 in front of the front wheel's point of contact
    model.joint("steering", frame, fork, Revolute((-np.sin(tilt), 0, np.cos(tilt))), at=(1.1, 0, 0))
    model.joint("rear axle", frame, rear, Revolute("y"))
    model.joint("front axle", fork, front, Revolute("y"))
    for wheel in (rear, front):
        model.rolling(f"ground under {wheel.name}", wheel, model.plane())
    start = {
        "spin": {"frame": (0.1, 0, 0)},
        "rates": {"rear axle": speed / 0.3, "front axle": speed / 0.35, "steering": 0.0},
    }  # fmt: skip
    return Mechanism(model, start, 3.0, 0.01)


def arm() -> Mechanism:
    """An arm of seven hinges with servos that bring it to a pose."""
    model = Multibody(name="Arm")
    before, axes, targets = model.ground, "zyzyzyz", (0.3, 0.8, -0.4, -1.2, 0.5, 0.6, 0.1)
    for k in range(7):
        link = model.body(f"link {k + 1}", density=1500, shape=Capsule(0.05, 0.2, at=(0, 0, 0.15)), at=(0, 0, 0.3 * k))
        model.joint(f"joint {k + 1}", before, link, Revolute(axes[k]), armature=0.05)
        model.position_servo(f"joint {k + 1}", targets[k], 300.0 / (k + 1), 40.0 / (k + 1))
        before = link
    return Mechanism(model, {}, 3.0, 0.001)


def quadruped() -> Mechanism:
    """A trunk with four legs of three hinges, held by servos, that lands on its feet."""
    model = Multibody(name="Quadruped")
    trunk = model.body("trunk", density=300, shape=Box((0.5, 0.25, 0.12)), at=(0, 0, 0.46))
    floor = model.plane()
    for name, x, y in (("front left", 1, 1), ("front right", 1, -1), ("rear left", -1, 1), ("rear right", -1, -1)):
        hip_at = np.array([0.2 * x, 0.15 * y, 0.46])
        hip = model.body(f"{name} hip", 0.6, (1e-3, 1e-3, 1e-3), at=hip_at)
        thigh = model.body(f"{name} thigh", density=1000, shape=Capsule(0.02, 0.16, at=(0, 0, -0.1)), at=hip_at,
                           rotation=(0, 0.6, 0))  # fmt: skip
        knee_at = thigh.drawn(np.array([0, 0, -0.2]))
        shank = model.body(f"{name} shank", density=1000, shape=Capsule(0.015, 0.16, at=(0, 0, -0.1)), at=knee_at,
                           rotation=(0, -0.6, 0))  # fmt: skip
        joints = (
            (f"{name} spread", trunk, hip, "x"),
            (f"{name} swing", hip, thigh, "y"),
            (f"{name} knee", thigh, shank, "y"),
        )
        for joint, first, second, axis in joints:
            model.joint(joint, first, second, Revolute(axis), armature=0.01)
            model.position_servo(joint, 0.0, 60.0, 2.0)
        model.contact(shank.surface(Sphere(0.02, at=(0, 0, -0.2))), floor, friction=0.7, name=f"{name} foot")
    return Mechanism(model, {}, 1.0, 0.002)


def slider_crank_with_clearance() -> Mechanism:
    """A slider-crank whose crank pin has play in its bearing: it flies free and hits."""
    model = Multibody(gravity=(0, -9.81, 0), name="SliderCrank")
    crank = model.body("crank", density=1000, shape=Box((0.1, 0.02, 0.02), at=(0.05, 0, 0)), at=(0, 0, 0))
    rod = model.body("rod", density=1000, shape=Box((0.3, 0.02, 0.02), at=(0.15, 0, 0)), at=(0.1, 0, 0))
    slider = model.body("slider", density=1000, shape=Box((0.05, 0.05, 0.05)), at=(0.4, 0, 0))
    model.joint("axle", model.ground, crank, Revolute("z"))
    model.joint("slide", model.ground, slider, Prismatic("x"))
    model.joint("piston pin", slider, rod.point(0.3, 0, 0), Revolute("z"))
    model.bearing("crank pin", crank.point(0.1, 0, 0), rod.point(0, 0, 0), clearance=5e-4, restitution=0.5)
    return Mechanism(model, {"rates": {"axle": 30.0}}, 0.5, 1e-4)


def governor() -> Mechanism:
    """Watt's flyball governor (IFToMM benchmark A05): springs of 8e5 N/m tie a slider to the middles of two rods."""
    model = Multibody(name="Governor")
    shaft = model.body("shaft", density=3000, shape=Box((0.01, 0.01, 1)), at=(0, 0, 0.5))
    slider = model.body("slider", density=3000, shape=Box((0.1, 0.1, 0.1)), at=(0, 0, 0.5))
    model.joint("axle", model.ground, shaft, Revolute("z"))
    model.joint("slide", shaft, slider, Prismatic("z"))
    for side, name in ((1, "right"), (-1, "left")):
        turn = (0, np.pi / 6 if side > 0 else 5 * np.pi / 6, 0)
        rod = model.body(f"{name} rod", density=3000, shape=Box((1, 0.01, 0.01), at=(0.5, 0, 0)),
                         at=(0.05 * side, 0, 1), rotation=turn)  # fmt: skip
        ball = model.body(f"{name} ball", 5.0, (0, 0, 0), shape=Sphere(0.05), at=rod.drawn(np.array([1.0, 0, 0])))
        model.weld(rod, ball)
        model.joint(f"{name} hinge", shaft, rod, Revolute("y"))
        model.spring(slider.point(0.05 * side, 0, 0), rod.point(0.5, 0, 0), 8e5, damping=4e4, rest=0.5)
    return Mechanism(model, {"rates": {"axle": 2 * np.pi}}, 10.0, 5e-4)


def suspension() -> Mechanism:
    """A vehicle on four sprung wheels that comes down on a level road while it rolls on."""
    model = Multibody(name="Vehicle")
    chassis = model.body("chassis", density=150, shape=Box((3.0, 1.4, 0.5)), at=(0, 0, 0.75))
    road, rates = model.plane(), {}
    for name, x, y in (("front left", 1, 1), ("front right", 1, -1), ("rear left", -1, 1), ("rear right", -1, -1)):
        at = (1.2 * x, 0.8 * y, 0.35)
        carrier = model.body(f"{name} carrier", 10.0, (0.1, 0.1, 0.1), at=at)
        wheel = model.body(f"{name} wheel", density=200, shape=Cylinder(0.3, 0.2, rotation=(np.pi / 2, 0, 0)), at=at)
        model.joint(f"{name} strut", chassis, carrier, Prismatic("z"), stiffness=2e4, damping=1500.0)
        model.joint(f"{name} axle", carrier, wheel, Revolute("y"))
        model.contact(wheel.surface(Sphere(0.3)), road, friction=0.8, name=f"{name} tyre")
        rates[f"{name} axle"] = 10.0 / 0.3
    return Mechanism(model, {"velocity": {"chassis": (10, 0, 0)}, "rates": rates}, 2.0, 0.001)


_ALL: tuple[Callable[[], Mechanism], ...] = (
    four_bar, bricard, stewart_platform, delta_robot, heavy_top, gyroscope, dzhanibekov, tippe_top, rolling_disc,
    bicycle, arm, quadruped, slider_crank_with_clearance, governor, suspension,
)  # fmt: skip


def mechanisms() -> tuple[str, ...]:
    """The names of all mechanisms."""
    return tuple(function.__name__.replace("_", "-") for function in _ALL)


def mechanism(name: str) -> Mechanism:
    """The mechanism of this name: a `Multibody` model with a start."""
    if name not in mechanisms():
        raise InputError(f"unknown mechanism {name!r}; expected one of: {', '.join(mechanisms())}.")
    return _ALL[mechanisms().index(name)]()
