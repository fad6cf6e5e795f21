"""The joints that close loops, from a file beside that of a robot::

    <loops>
      <joint name="strut" type="distance">
        <first link="shank" xyz="0 0 -0.2"/>
        <second link="world" xyz="0.3 0 0.6"/>
        <axis xyz="0 1 0"/>
      </joint>
    </loops>

Points are given in the frames of their links, axes in the frame of the first link. The points need not meet where the
robot is drawn; `assemble` brings them together. Without <length value="..."/> a distance is that of the drawing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import shown
from ..errors import InputError
from .bodies import Point
from .joints import (
    Cylindrical,
    Distance,
    Fixed,
    Joint,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from .markup import Element
from .model import Multibody

_ABOUT_AXIS: dict[str, Callable[[Any], Joint]] = {
    "revolute": Revolute, "prismatic": Prismatic, "cylindrical": Cylindrical, "planar": Planar,
    "point on line": PointOnLine, "point on plane": PointOnPlane,
}  # fmt: skip
_TYPES = ("fixed", "spherical", "distance", "universal", *_ABOUT_AXIS)
_PARTS = ("first", "second", "axis", "second_axis", "length", "dynamics")


def close_loops(model: Multibody, root: Element) -> None:
    """Add the joints of a file to a model."""
    if root.tag != "loops":
        raise root.error(f"expected <loops>, got <{shown(root.tag, 40)}>.")
    for joint in root.children:
        if joint.tag != "joint":
            raise joint.error(f"<loops> has a <{joint.tag}>; it holds <joint> alone.")
        for part in joint.children:
            if part.tag not in _PARTS:
                raise part.error(f"{joint.called()} has a <{part.tag}>; known are {', '.join(_PARTS)}.")
        first, second = (_point(model, joint.needed(tag)) for tag in ("first", "second"))
        dynamics, options = joint.one("dynamics"), {}
        if dynamics is not None:
            options = {key: dynamics.number(key, 0.0) for key in ("damping", "friction")}
        try:
            model.close_loop(joint.text("name"), first, second, _kind(joint, first), **options)
        except InputError as error:
            raise joint.error(str(error)) from error


def _point(model: Multibody, end: Element) -> Point:
    name = end.text("link")
    body = model.bodies.get("ground" if name == "world" and name not in model.bodies else name)
    if body is None:
        raise end.error(f'there is no link "{name}".')
    return body.point(*end.numbers("xyz", 3, (0.0, 0.0, 0.0)))


def _kind(joint: Element, first: Point) -> Joint:
    kind = joint.text("type")
    if kind in _ABOUT_AXIS:
        return _ABOUT_AXIS[kind](_axis(joint, "axis", first))
    if kind == "universal":
        return Universal(_axis(joint, "axis", first), _axis(joint, "second_axis", first))
    if kind == "distance":
        length = joint.one("length")
        return Distance(None if length is None else length.number("value"))
    if kind in ("fixed", "spherical"):
        return Fixed() if kind == "fixed" else Spherical()
    raise joint.error(f"type of joint {joint.text('name')!r} must be one of {', '.join(_TYPES)}, got {shown(kind)}.")


def _axis(joint: Element, tag: str, first: Point) -> tuple[float, ...]:
    """An axis in the frame of the first link, as drawn."""
    return tuple((first.body.turn @ np.array(joint.needed(tag).numbers("xyz", 3))).tolist())
