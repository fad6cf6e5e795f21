"""What a system keeps for pictures: outlines of its bodies, points and the edges between them, and their shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .bodies import Body
from .configuration import GROUND
from .joints import Distance
from .shapes import Several, Shape
from .vectors import is_traced

if TYPE_CHECKING:
    from .build import Numbering
    from .model import Multibody


class Solid(NamedTuple):
    """A shape of a body: a point X of its frame has the components `origin + axes X` along the directors."""

    body: int
    shape: Shape
    origin: tuple[float, ...]
    axes: tuple[tuple[float, ...], ...]


def solids(model: Multibody, numbering: Numbering) -> tuple[Solid, ...]:
    """The shapes of all bodies."""
    found = []
    for body in model.bodies.values():
        if body.shape is None or _is_traced(body, numbering):
            continue
        host = numbering.host[body.name]
        places = [host.components(numbering.place(body, place)) for place in (np.zeros(3), *np.eye(3))]
        axes = np.stack([place - places[0] for place in places[1:]], axis=1)
        found.append(Solid(numbering.of(body), body.shape, tuple(places[0].tolist()), tuple(map(tuple, axes.tolist()))))
    return tuple(found)


def outlines(model: Multibody, numbering: Numbering):
    """The points of the outlines along the directors, with the number of the body, and the bars between them."""
    drawing, bars, first = [], [], 0
    for body in model.bodies.values():
        if _is_traced(body, numbering):
            continue
        for places, edges in _sketches(model, body):
            host = numbering.host[body.name]
            components = np.stack([host.components(numbering.place(body, place)) for place in places])
            drawing.append((numbering.of(body), tuple(map(tuple, components.tolist()))))
            bars += [(a + first, b + first) for a, b in edges]
            first += len(places)
    for joint in numbering.joints:  # what keeps points apart is drawn as a line between them
        if isinstance(joint.kind, Distance) and not is_traced((joint.on_first, joint.on_second)):
            for body, place in ((joint.first, joint.on_first), (joint.second, joint.on_second)):
                components = numbering.host[body.name].components(numbering.place(body, place))
                if not is_traced(components):
                    drawing.append((numbering.of(body), (tuple(components.tolist()),)))
                    first += 1
            bars.append((first - 2, first - 1))
    if not drawing:
        return ((GROUND, ((0.0, 0.0, 0.0),)),), ()
    return tuple(drawing), tuple(bars)


def _is_traced(body: Body, numbering: Numbering) -> bool:
    host = numbering.host[body.name]
    return is_traced((host.com, host.mass, host.principal.euler, host.place, body.place))


def _sketches(model: Multibody, body: Body) -> list[tuple[np.ndarray, list[tuple[int, int]]]]:
    """The outlines of a body's shapes; without one, lines from its centre of mass to its joints."""
    if body.shape is not None:
        shapes = body.shape.parts if isinstance(body.shape, Several) else (body.shape,)
        return [(found.points, list(found.edges)) for found in (shape.placed_outline() for shape in shapes)]
    if body.is_ground:
        return []
    ends = [
        place
        for joint in model.joints.values()
        for side, place in ((joint.first, joint.on_first), (joint.second, joint.on_second))
        if side is body and not is_traced(place)
    ]
    return [(np.array([body.com, *ends]), [(0, k + 1) for k in range(len(ends))])]
