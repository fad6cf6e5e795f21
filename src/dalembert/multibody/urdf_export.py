"""Models as URDF files, where they fit: trees of revolute, continuous, prismatic, planar, floating and fixed joints."""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np

from ..errors import ModelError
from .bodies import Body
from .build import Numbering
from .formulations import tree_of
from .joints import Continuous, Fixed, Floating, Joint, Planar, Prismatic, Revolute
from .shapes import Box, Cylinder, Several, Shape, Sphere
from .vectors import to_angles

_TYPES: dict[type[Joint], str] = {
    Revolute: "revolute", Continuous: "continuous", Prismatic: "prismatic", Planar: "planar", Floating: "floating",
    Fixed: "fixed",
}  # fmt: skip


def to_urdf(model, ignore=()) -> str:
    """The text of a URDF file; an error names what does not fit, unless `ignore` does."""
    numbering = Numbering(model)
    joints = list(model.joints.values())
    refused_unless_ignored(model.name, "URDF", _left_out(model, numbering), ignore)
    frames: dict[str, tuple[np.ndarray, np.ndarray]] = {"ground": (np.zeros(3), np.eye(3))}
    above: dict[str, tuple[str, object]] = {}
    order = _above(model, joints, above)
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(model.name)}>", '  <link name="world"/>']
    for name in order:
        body, (parent, joint) = model.bodies[name], above[name]
        # a link's frame is where its joint is
        at = body.place if joint is None else joint.first.drawn(joint.on_first)  # pyright: ignore
        frames[name] = at, body.turn
        lines += _link(body, at) + _joint(model, body, parent, joint, frames)
    return "\n".join([*lines, "</robot>", ""])


def refused_unless_ignored(name: str, form: str, left_out: dict[str, list[str]], ignore) -> None:
    """Refuse what a form of files cannot hold, by kind, unless it may be left out."""
    ignore = set([ignore] if isinstance(ignore, str) else ignore)
    if not left_out.keys() <= ignore:
        what = "; ".join(f"{key}: {', '.join(names)}" for key, names in left_out.items() if key not in ignore)
        raise ModelError(f"{name} does not fit into {form} ({what}); ignore=[...] leaves these out by kind.")


def _left_out(model, numbering: Numbering) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    elements = [numbering.element(joint) for joint in numbering.joints]
    tree = tree_of(tuple(elements), len(numbering.bodies))
    for k, (joint, element) in enumerate(zip(numbering.joints, elements, strict=True)):
        if type(joint.kind) not in _TYPES:
            found.setdefault(type(joint.kind).__name__, []).append(joint.name)
        elif k not in tree and element.kind.places != "free":
            found.setdefault("loop", []).append(joint.name)
        if joint.armature is not None:
            found.setdefault("armature", []).append(joint.name)
    for force in model.forces:
        element = force(numbering)
        damper = type(element).__name__ == "JointDamper"
        if not damper:
            found.setdefault("force", []).append(element.name)
    for coupling in model.couplings:
        element = coupling(numbering)
        if type(element).__name__ != "Gear":
            found.setdefault("prescribed motion", []).append(element.name)
    if model.contacts:
        found["contact"] = [str(len(model.contacts))]
    return found


def _above(model, joints, above: dict) -> list[str]:
    """For every body the body and the joint (None: a weld) above it, from the ground on."""
    edges = [(j.first.name, j.second.name, j) for j in joints if type(j.kind) in _TYPES]
    edges = [(a.name, b.name, None) for a, b in model.welds] + edges
    order, reached = [], {"ground"}
    while True:
        edge = next(((a, b, j) for a, b, j in edges if (a in reached) != (b in reached)), None)
        if edge is None:
            break
        first, second, joint = edge
        if second in reached and joint is not None:
            raise ModelError(
                f"{model.name} does not fit into URDF: joint {joint.name!r} leads from {first!r} to {second!r}, "
                "towards the ground; URDF wants parents first."
            )
        parent, child = (first, second) if first in reached else (second, first)
        above[child] = (parent, joint)
        order.append(child)
        reached.add(child)
    free = [name for name in model.bodies if name not in reached]
    if free:
        raise ModelError(
            f"{model.name} does not fit into URDF: no joint connects {', '.join(free)} with the ground; "
            "add joints of the kind Floating."
        )
    return order


def _link(body: Body, at: np.ndarray) -> list[str]:
    own = body.own(at)
    lines = [f"  <link name={quoteattr(body.name)}>"]
    if body.mass:
        j = body.inertia
        entries = " ".join(
            f'{key}="{j[a, b]:.17g}"'
            for key, (a, b) in {
                "ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2),
            }.items()
        )  # fmt: skip
        lines.append(
            f'    <inertial><origin xyz="{digits(body.com - own)}"/><mass value="{float(body.mass):.17g}"/>'
            f"<inertia {entries}/></inertial>"
        )
    shapes = body.shape.parts if isinstance(body.shape, Several) else (body.shape,)
    lines += [
        f"    <visual>{_shape(shape, own)}</visual>" for shape in shapes if isinstance(shape, Box | Sphere | Cylinder)
    ]
    return [*lines, "  </link>"]


def _shape(shape: Shape, own: np.ndarray) -> str:
    turn = np.array(shape.rotation)  # pyright: ignore[reportAttributeAccessIssue]
    place = np.array(shape.at) - own  # pyright: ignore[reportAttributeAccessIssue]
    origin = f'<origin xyz="{digits(place)}" rpy="{digits(to_angles(turn))}"/>'
    if isinstance(shape, Box):
        geometry = f'<box size="{digits(shape.size)}"/>'
    elif isinstance(shape, Sphere):
        geometry = f'<sphere radius="{shape.radius:.17g}"/>'
    else:
        assert isinstance(shape, Cylinder)
        geometry = f'<cylinder radius="{shape.radius:.17g}" length="{shape.length:.17g}"/>'
    return f"{origin}<geometry>{geometry}</geometry>"


def _joint(model, body: Body, parent: str, joint, frames) -> list[str]:
    (at, turn), (above, around) = frames[body.name], frames[parent]
    origin = f'<origin xyz="{digits(around.T @ (at - above))}" rpy="{digits(to_angles(around.T @ turn))}"/>'
    ends = f"<parent link={quoteattr('world' if parent == 'ground' else parent)}/><child link={quoteattr(body.name)}/>"
    name, kind = (f"{body.name} fixed", "fixed") if joint is None else (joint.name, _TYPES[type(joint.kind)])
    parts = [origin, ends]
    if joint is not None and kind not in ("fixed", "floating"):
        parts.append(f'<axis xyz="{digits(turn.T @ joint.axes[:, 2])}"/>')
    if joint is not None and kind == "revolute" and joint.limits is None:
        kind = "continuous"
    if joint is not None and (joint.limits is not None or kind == "prismatic"):
        low, high = joint.limits or (-1e30, 1e30)
        effort = 0.0 if joint.effort is None else joint.effort
        parts.append(f'<limit lower="{low:.17g}" upper="{high:.17g}" effort="{effort:.17g}" velocity="0"/>')
    numbering = Numbering(model)
    for force in model.forces:
        element = force(numbering)
        if joint is not None and type(element).__name__ == "JointDamper" and element.name == f"damper of {joint.name}":
            parts.append(
                f'<dynamics damping="{float(element.damping):.17g}" friction="{float(element.friction):.17g}"/>'
            )
    for coupling in model.couplings:
        element = coupling(numbering)
        names = [j.name for j in numbering.joints]
        if joint is not None and type(element).__name__ == "Gear" and names[element.second.joint] == joint.name:
            leader = quoteattr(names[element.first.joint])
            parts.append(
                f'<mimic joint={leader} multiplier="{element.ratio:.17g}" offset="{float(element.offset):.17g}"/>'
            )
    return [
        f"  <joint name={quoteattr(name)} type={quoteattr(kind)}>",
        *(f"    {part}" for part in parts),
        "  </joint>",
    ]


def digits(numbers) -> str:
    """Numbers with all their digits."""
    return " ".join(f"{float(x):.17g}" for x in numbers)
