"""Robots from URDF files (http://wiki.ros.org/urdf/XML), read without other packages.

Links become bodies, joints become joints, `<dynamics>` becomes friction, `<limit>` limits and efforts, `<mimic>` a
gear. Fixed joints weld their links to one body, whose parts keep their names. What has no counterpart is an error,
unless `ignore` names it; what is kept but not used by the equations is listed in `model.remarks`.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..arguments import shown
from ..errors import InputError
from .bodies import Body
from .inertia import nearest_inertia, principal
from .joints import Continuous, Floating, Joint, Planar, Prismatic, Revolute
from .markup import Element, resolved
from .model import Multibody
from .shapes import Box, Cylinder, Shape, Sphere
from .stl import extents
from .vectors import from_angles

#: Elements that say nothing about the motion.
UNMOVING = ("visual", "collision", "material")
#: What may be left out by name.
IGNORABLE = ("gazebo", "transmission", "safety_controller", "calibration", "sensor")
JOINT_TYPES = ("fixed", "revolute", "continuous", "prismatic", "planar", "floating")
_KNOWN = {
    "robot": {"link", "joint", "material"},
    "link": {"inertial", "visual", "collision"},
    "joint": {"parent", "child", "origin", "axis", "limit", "dynamics", "mimic"},
    "inertial": {"origin", "mass", "inertia"},
}


def load_urdf(
    root: Element, *, ignore: Iterable[str], packages: Mapping[str, Any], base: str, inertia: str, gravity
) -> Multibody:
    """The model of a URDF file from its root element; see `load_model`."""
    return _Reader(root, set(ignore), {k: pathlib.Path(v) for k, v in packages.items()}, inertia).model(base, gravity)


class _Reader:
    def __init__(self, root: Element, ignore: set[str], packages: dict[str, pathlib.Path], inertia: str) -> None:
        self.root, self.ignore, self.packages, self.inertia = root, ignore, packages, inertia
        self.remarks: list[str] = []
        self.links = self._by_name("link")
        self.joints = self._by_name("joint")
        if not self.links:
            raise root.error("the robot has no <link>.")
        for element in [root, *self.links.values(), *self.joints.values()]:
            self._check_children(element)
        self.parents = self._tree()

    def _by_name(self, tag: str) -> dict[str, Element]:
        found: dict[str, Element] = {}
        for element in self.root.all(tag):
            name = element.text("name")
            if name in found:
                raise element.error(f'a second {tag} is called "{name}"; the first is in line {found[name].line}.')
            found[name] = element
        return found

    def _check_children(self, element: Element) -> None:
        for child in element.children:
            if child.tag in _KNOWN[element.tag] or child.tag in self.ignore:
                continue
            hint = f'pass ignore=["{child.tag}"] to leave it out'
            raise child.error(f"{element.called()} has a <{child.tag}>, which has no counterpart here; {hint}.")

    # -- the tree --------------------------------------------------------------------------------------------------

    def _tree(self) -> dict[str, Element]:
        """The joint above each link."""
        parents: dict[str, Element] = {}
        for joint in self.joints.values():
            ends = [joint.needed(tag).text("link") for tag in ("parent", "child")]
            for tag, name in zip(("parent", "child"), ends, strict=True):
                if name not in self.links:
                    raise joint.needed(tag).error(f'there is no link "{name}".')
            if ends[1] in parents:
                other = parents[ends[1]]
                raise joint.error(
                    f'link "{ends[1]}" is the child of two joints (the other is in line {other.line}): URDF describes '
                    "trees. Close loops with model.close_loop(...)."
                )
            parents[ends[1]] = joint
        for name in self.links:
            seen, link = {name}, name
            while link in parents:
                link = parents[link].needed("parent").text("link")
                if link in seen:
                    raise parents[name].error(f'link "{name}" is above itself: the joints form a circle.')
                seen.add(link)
        roots = [name for name in self.links if name not in parents]
        if len(roots) > 1:
            second = self.links[roots[1]]
            raise second.error(f'links "{roots[0]}" and "{roots[1]}" have no parent: a robot has one root.')
        return parents

    def _order(self) -> list[str]:
        """The links, each after its parent, in the order of the file."""
        below: dict[str, list[str]] = {name: [] for name in self.links}
        for name in self.links:
            if name in self.parents:
                below[self.parents[name].needed("parent").text("link")].append(name)
        waiting, order = [next(name for name in self.links if name not in self.parents)], []
        while waiting:
            order.append(waiting.pop(0))
            waiting = below[order[-1]] + waiting
        return order

    # -- the model -------------------------------------------------------------------------------------------------

    def model(self, base: str, gravity) -> Multibody:
        """The model, its root fixed to the ground or floating."""
        name = "".join(c if c.isalnum() else "_" for c in self.root.attributes.get("name", "robot"))
        model = Multibody(gravity=gravity, name=name if name.isidentifier() else "robot")
        places: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        bodies: dict[str, Body] = {}
        for link in self._order():
            joint = self.parents.get(link)
            if joint is None:
                places[link] = np.zeros(3), np.eye(3)
                bodies[link] = model.ground if link == "world" else self._body(model, link, *places[link])
                if link != "world" and base == "fixed":
                    model.weld(model.ground, bodies[link])
                continue
            parent = joint.needed("parent").text("link")
            offset, turn = _origin(joint)
            place = places[parent][0] + places[parent][1] @ offset, places[parent][1] @ turn
            places[link] = place
            bodies[link] = self._body(model, link, *place)
            self._joint(model, joint, bodies[parent], bodies[link], place)
        for joint in self.joints.values():
            self._mimic(model, joint)
        model.remarks = tuple(self.remarks)
        return model

    def _body(self, model: Multibody, name: str, place: np.ndarray, turn: np.ndarray) -> Body:
        link = self.links[name]
        if name == "ground":
            raise link.error('a link cannot be called "ground", which is what does not move.')
        inertial = link.one("inertial")
        shape = self._shape(link)
        if inertial is None:
            return model.body(name, 0.0, (0.0, 0.0, 0.0), shape=shape, at=place, rotation=turn)
        self._check_children(inertial)
        mass = inertial.needed("mass").number("value")
        if mass < 0.0:
            raise inertial.needed("mass").error(f"the mass of link {name!r} must not be negative, got {mass:g}.")
        com, axes = _origin(inertial)
        tensor = inertial.one("inertia")
        entries = [0.0] * 6 if tensor is None else [
            tensor.number(key, 0.0) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        ]  # fmt: skip
        xx, yy, zz, xy, xz, yz = entries
        inertia = axes @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ axes.T
        inertia = (inertia + inertia.T) / 2
        try:
            principal(f"the inertia of link {name!r}", inertia)
        except InputError as error:
            if self.inertia == "refuse":
                raise (tensor or inertial).error(f'{error} inertia="nearest" takes the nearest ones.') from error
            inertia = nearest_inertia(inertia)
            self.remarks.append(f"link {name!r}: the inertia was none; the nearest one is used")
        return model.body(name, mass, inertia, com, shape=shape, at=place, rotation=turn)

    def _shape(self, link: Element) -> list[Shape] | None:
        """All visual shapes that can be drawn; without any, the collision shapes."""
        for kind in ("visual", "collision"):
            geometries = [(element.one("geometry"), _origin(element)) for element in link.all(kind)]
            found = [self._geometry(link, geometry, *at) for geometry, at in geometries if geometry is not None]
            drawn = [shape for shape in found if shape is not None]
            if drawn:
                return drawn
        return None

    def _geometry(self, link: Element, geometry: Element, at: np.ndarray, turn: np.ndarray) -> Shape | None:
        placed: dict[str, Any] = {"at": tuple(at), "rotation": tuple(map(tuple, turn))}
        try:
            for shape in geometry.children:
                if shape.tag == "box":
                    return Box(shape.numbers("size", 3), **placed)
                if shape.tag == "sphere":
                    return Sphere(shape.number("radius"), **placed)
                if shape.tag == "cylinder":
                    return Cylinder(shape.number("radius"), shape.number("length"), **placed)
                if shape.tag == "mesh":
                    return self._mesh(link, shape, at, turn)
        except InputError as error:
            raise geometry.error(str(error)) from error
        self.remarks.append(f"link {link.text('name')!r}: a shape in line {geometry.line} is not known, and not drawn")
        return None

    def _mesh(self, link: Element, shape: Element, at: np.ndarray, turn: np.ndarray) -> Shape | None:
        """The box around a mesh."""
        name = shape.text("filename")
        file = resolved(name, self.root.file, self.packages)
        box = None if file is None else extents(file)
        if box is None:
            why = "was not found" if file is None else "is no STL file"
            self.remarks.append(f"link {link.text('name')!r}: the mesh {name} {why}, and is not drawn")
            return None
        low, high = (end * np.array(shape.numbers("scale", 3, (1.0, 1.0, 1.0))) for end in box)
        middle = at + turn @ (low + high) / 2
        size = np.maximum(np.abs(high - low), 1e-6 * max(1e-12, float(np.max(np.abs(high - low)))))
        return Box(tuple(size), at=tuple(middle), rotation=tuple(map(tuple, turn)))

    def _joint(self, model: Multibody, joint: Element, parent: Body, child: Body, place) -> None:
        name, kind = joint.text("name"), joint.text("type")
        if kind not in JOINT_TYPES:
            raise joint.error(f"type of joint {name!r} must be one of {', '.join(JOINT_TYPES)}, got {shown(kind)}.")
        if kind == "fixed":
            model.weld(parent, child)
            return
        axis = _axis(joint, place[1]) if kind != "floating" else (0.0, 0.0, 1.0)
        kinds: dict[str, Joint] = {
            "revolute": Revolute(axis), "continuous": Continuous(axis), "prismatic": Prismatic(axis),
            "planar": Planar(axis), "floating": Floating(),
        }  # fmt: skip
        options: dict[str, Any] = {}
        limit, dynamics = joint.one("limit"), joint.one("dynamics")
        if kind in ("revolute", "prismatic"):
            if limit is None:
                raise joint.error(f"{kind} joint {name!r} needs a <limit>.")
            low, high = limit.number("lower", 0.0), limit.number("upper", 0.0)
            if low > high:
                raise limit.error(f"the lower limit {low:g} of joint {name!r} is above the upper one, {high:g}.")
            if low == high:
                raise limit.error(f"the limits of joint {name!r} are equal, {low:g}: it cannot move; make it fixed.")
            options["limits"] = low, high
        if limit is not None and "effort" in limit.attributes:
            options["effort"] = limit.number("effort")
        if limit is not None and "velocity" in limit.attributes:
            self.remarks.append(
                f"joint {name!r}: rated for the rate {limit.number('velocity'):g}, which is not imposed"
            )
        if dynamics is not None and kind not in ("floating", "planar"):
            options["damping"] = dynamics.number("damping", 0.0)
            options["friction"] = dynamics.number("friction", 0.0)
        elif dynamics is not None and any(dynamics.number(key, 0.0) for key in ("damping", "friction")):
            raise dynamics.error(f"friction of a {kind} joint has no counterpart here.")
        try:
            model.joint(name, parent, child, kinds[kind], at=place[0], **options)
        except InputError as error:
            raise joint.error(str(error)) from error

    def _mimic(self, model: Multibody, joint: Element) -> None:
        mimic = joint.one("mimic")
        if mimic is None:
            return
        name, leader = joint.text("name"), mimic.text("joint")
        for which in (name, leader):
            if which not in model.joints:
                raise mimic.error(f"joint {which!r}, which takes part in a mimic, does not exist or cannot move.")
        try:
            ratio, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
            model.gear(f"mimic of {name}", leader, name, ratio, offset)
        except InputError as error:
            raise mimic.error(str(error)) from error


def _origin(element: Element) -> tuple[np.ndarray, np.ndarray]:
    """Place and rotation of an <origin>."""
    origin = element.one("origin")
    if origin is None:
        return np.zeros(3), np.eye(3)
    zero = (0.0, 0.0, 0.0)
    return np.array(origin.numbers("xyz", 3, zero)), from_angles(origin.numbers("rpy", 3, zero))


def _axis(joint: Element, turn: np.ndarray) -> tuple[float, ...]:
    """The axis of a joint as drawn, of length 1."""
    element = joint.one("axis")
    given = np.array((1.0, 0.0, 0.0) if element is None else element.numbers("xyz", 3))
    length = float(np.linalg.norm(given))
    if not 1e-300 < length < 1e300:
        raise (element or joint).error(f"the axis of joint {joint.text('name')!r} must not be zero.")
    return tuple((turn @ (given / length)).tolist())
