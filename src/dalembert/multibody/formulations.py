"""From a model to a system: which coordinates place which body, and which functions the system has."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

from ..arguments import choice
from ..errors import ModelError
from .bodies import BodyElement
from .configuration import GROUND
from .forces import ForceElement
from .joints import JointElement
from .system import MultibodySystem, Placement, row_names
from .vectors import is_traced

if TYPE_CHECKING:
    from .build import Parts

#: A tree of up to so many joints without contact is written in joint coordinates by default: beyond it the dense mass
#: matrix costs more than the constraints of directors, to translate and to solve.
MOST_TREE_JOINTS = 20
FORMULATIONS = ("auto", "joints", "directors")


def system_of(parts: Parts, coordinates: str, name: str) -> MultibodySystem:
    """The system of a model's parts in the chosen coordinates."""
    choice("coordinates", coordinates, FORMULATIONS)
    tree = tree_of(parts.joints, len(parts.bodies))
    if coordinates == "auto":
        coordinates = "joints" if _suits_joints(parts, tree) else "directors"
    followed = tree if coordinates == "joints" else around_massless(parts.bodies, parts.joints, tree)
    plan = placements(parts.bodies, parts.joints, followed)
    _check_bearings(parts, plan)
    bare = _made(parts, plan, coordinates, name, frozenset())
    return _made(parts, plan, coordinates, name, _optional_parts(bare))


def pose_system(parts: Parts) -> MultibodySystem:
    """The constraints and kinematics of a model by directors, for finding poses."""
    parts = dataclasses.replace(parts, followed=())
    return _made(parts, placements(parts.bodies, parts.joints, []), "directors", "Poses", frozenset({"holonomic"}))


def as_directors(system: MultibodySystem) -> MultibodySystem:
    """The same model with all bodies free that have a mass: its multipliers are the reactions of the joints between
    those. Without contacts."""
    names = [field.name for field in dataclasses.fields(MultibodySystem)]
    fields = {name: getattr(system, name) for name in names} | {"contacts": (), "restitution": 0.0, "friction": 0.0}
    followed = around_massless(system.bodies, system.joints, tree_of(system.joints, len(system.bodies)))
    fields |= {"plan": placements(system.bodies, system.joints, followed), "coordinates": "directors"}
    bare = system_class("Reactions", frozenset())(**fields)
    return system_class("Reactions", _optional_parts(bare))(**fields)


def _made(parts: Parts, plan, coordinates: str, name: str, functions: frozenset[str]) -> MultibodySystem:
    fields = [field.name for field in dataclasses.fields(MultibodySystem) if field.name not in ("plan", "coordinates")]
    arguments = {field: getattr(parts, field) for field in fields}
    return system_class(name, functions)(plan=plan, coordinates=coordinates, **arguments)


def _suits_joints(parts: Parts, tree: list[int]) -> bool:
    loops = [j for j, joint in enumerate(parts.joints) if j not in tree and joint.kind.places != "free"]
    if any(force.bears_on is not None for force in parts.forces):
        return False  # the reactions of the joints that are coordinates are not known
    touching = [contact for contact in parts.contacts if contact.rough]
    return not loops and not touching and 0 < len(tree) <= MOST_TREE_JOINTS


def tree_of(joints: tuple[JointElement, ...], bodies: int) -> list[int]:
    """The joints that place a body: in the order of the model, those whose bodies earlier ones do not connect."""
    group = {k: k for k in range(GROUND, bodies)}

    def root(k: int) -> int:
        while group[k] != k:
            group[k] = group[group[k]]
            k = group[k]
        return k

    tree = []
    for number, joint in enumerate(joints):
        first, second = root(joint.first), root(joint.second)
        if joint.kind.places in ("coordinates", "directors") and first != second:
            group[second] = first
            tree.append(number)
    return tree


def is_massless(body: BodyElement) -> bool:
    """Whether coordinates of this body alone would carry no inertia."""
    return not is_traced(body.mass) and float(body.mass) == 0.0


def around_massless(
    bodies: tuple[BodyElement, ...], joints: tuple[JointElement, ...], tree: list[int]
) -> list[int]:  # fmt: skip
    """The joints of the tree at bodies without mass. Directors of such a body would have no inertia, so that it is
    placed by the coordinates of its joints, and so are the bodies behind it: the coordinates then carry theirs."""
    return [
        k for k in tree
        if any(end != GROUND and is_massless(bodies[end]) for end in (joints[k].first, joints[k].second))
    ]  # fmt: skip


def placements(
    bodies: tuple[BodyElement, ...], joints: tuple[JointElement, ...], tree: list[int]
) -> tuple[Placement, ...]:
    """How the bodies are placed, each after the one it hangs on; bodies that no joint of the tree reaches are free."""
    neighbours: dict[int, list[tuple[int, int]]] = {k: [] for k in range(GROUND, len(bodies))}
    for number in tree:
        neighbours[joints[number].first].append((number, joints[number].second))
        neighbours[joints[number].second].append((number, joints[number].first))
    plan: list[Placement] = []
    reached, start = {GROUND}, 0

    def place(body: int, how: str, joint: int | None = None, backward: bool = False) -> None:
        nonlocal start
        element = bodies[body]
        if how == "coordinates":
            assert joint is not None
            size = len(joints[joint].kind.coordinates)
        else:
            size = 3 * len(element.kept) + (3 if how == "free" else 0)
            _check_inertia(element, how)
        plan.append(Placement(body, how, start, size, joint, backward))
        reached.add(body)
        start += size

    def follow(root: int) -> None:
        waiting = [root]
        while waiting:
            body = waiting.pop(0)
            for number, other in neighbours[body]:
                if other not in reached:
                    place(other, joints[number].kind.places, number, joints[number].second == body)
                    waiting.append(other)

    follow(GROUND)
    for body in sorted(range(len(bodies)), key=lambda k: is_massless(bodies[k])):
        if body not in reached:
            place(body, "free")
            follow(body)
    return tuple(plan)


def _check_inertia(element: BodyElement, how: str) -> None:
    if is_massless(element) and how != "coordinates":
        raise ModelError(
            f"body {element.name!r} has no mass, and coordinates of its own here, which must carry inertia. Give it a "
            "mass and an inertia, weld it to another body, or connect it by joints that place it, as Revolute."
        )


def _check_bearings(parts: Parts, plan: tuple[Placement, ...]) -> None:
    """The friction of a bearing needs the multipliers of its joint, and those are the system's only ones."""
    placing = {placement.joint for placement in plan if placement.how == "coordinates"}
    for force in parts.forces:
        if force.bears_on is None:
            continue
        if force.bears_on in placing:
            raise ModelError(
                f"{force.name} depends on the reaction of joint {parts.joints[force.bears_on].name!r}, which is no "
                'constraint here but a coordinate. Use model.system(coordinates="directors"); at a body without mass '
                "there is no such reaction, so give it a mass."
            )
        rolling = [coupling.name for coupling in parts.couplings if coupling.nonholonomic]
        if rolling:
            raise ModelError(
                f"{force.name} depends on the reaction of a joint, and {rolling[0]!r} constrains velocities: no method "
                "here treats both. Use model.joint_damper(..., friction=...) in place of the bearing's friction."
            )


def _optional_parts(system: MultibodySystem) -> frozenset[str]:
    found = set()
    if row_names(system):
        found.add("holonomic")
    if any(coupling.nonholonomic for coupling in system.couplings):
        found.add("nonholonomic")
    if any(force.has_law for force in system.forces):
        found.add("force")
    if any(force.bears_on is not None for force in system.forces):
        found.add("reaction")
    if system.contacts:
        found.add("gap")
    if any(contact.rough for contact in system.contacts):
        found.add("tangent")
    if _is_quadratic(system):
        found |= {"potential_invariants", "potential_of"}
        if "holonomic" in found:
            found |= {"constraint_invariants", "constraint_of"}
    return frozenset(found)


def _is_quadratic(system: MultibodySystem) -> bool:
    """Whether constraints and potentials go through functions of the coordinates that are at most quadratic."""
    free = all(p.how == "free" and len(system.bodies[p.body].kept) != 2 for p in system.plan)
    potentials = [f for f in system.forces if type(f).potential is not ForceElement.potential]
    return (
        free
        and not system.armature_joints
        and not system.followed_coordinates
        and not system.couplings
        and all(joint.kind.quadratic for joint in system.joints)
        and all(type(force).invariants is not ForceElement.invariants for force in potentials)
    )


@functools.cache
def system_class(name: str, parts: frozenset[str]) -> type[MultibodySystem]:
    """The class of a system with these optional functions: a function that a class does not define is absent."""
    namespace: dict[str, Any] = {part: getattr(MultibodySystem, f"_{part}") for part in sorted(parts)}
    namespace["__annotations__"] = {}
    namespace["__module__"] = MultibodySystem.__module__
    kind: Any = type(MultibodySystem)
    return kind(name, (MultibodySystem,), namespace)
