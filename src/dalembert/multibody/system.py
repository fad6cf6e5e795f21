"""The system of a model: one Lagrangian, whatever the coordinates are.

With x_b the centres of mass and d_bi the directors that carry mass, E_bi Euler's moments, in any coordinates q::

    T = sum_b m_b/2 |x_b'|^2 + 1/2 sum_i E_bi |d_bi'|^2,      V = -sum_b m_b G . x_b + sum_f U_f(s_f)

A plan says how q places the bodies, one after the other. A body that is placed `free` has x and d as coordinates,
with the constraints d_i . d_j = delta_ij; one that is placed with `directors` hangs at a point and has d; one that is
placed by the `coordinates` of its joint needs no constraint. Joints that place no body are constraints. All bodies free
is the formulation by directors, where the mass matrix is constant; all joints used that can be is the one by joint
coordinates.

Poses know an angle up to turns. Where a motor, a spring, a rotor or a far stop depends on the turns of a joint that
places no body, its angle is a coordinate c of its own, tied to the poses by a constraint::

    sin(angle(q) - c) = 0,      T_c = I/2 c'^2 with a rotor of the inertia I,

and the mass matrix stays constant. Without a rotor c has no inertia, but a mass matrix must be regular. A companion z
makes it so without a trace in the motion::

    T_c = mu c' z',   z = 0,      which leaves of the equation of c:  mu z'' = 0 = force on c - multiplier of its row
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..problem import System
from .bodies import BodyElement
from .configuration import GROUND, GROUND_POSE, BodyFrame, Configuration, Pose
from .contacts import ContactElement, sliding_rows
from .couplings import Coupling
from .forces import BearingFriction, ForceElement
from .joints import JointElement
from .pictures import Solid
from .vectors import Triple


class Placement(NamedTuple):
    """How one body is placed: "free", "directors" or "coordinates", from which of q on; by which joint, and whether
    that joint is followed from its second body to its first."""

    body: int
    how: str
    start: int
    size: int
    joint: int | None = None
    backward: bool = False


class MultibodySystem(System):
    """A system that comes from a `Multibody` model."""

    bodies: tuple[BodyElement, ...]
    joints: tuple[JointElement, ...]
    forces: tuple[ForceElement, ...]
    couplings: tuple[Coupling, ...]
    contacts: tuple[ContactElement, ...]
    frames: tuple[BodyFrame, ...]
    gravity: Triple
    armatures: tuple[Any, ...]
    plan: tuple[Placement, ...] = eqx.field(static=True)
    armature_joints: tuple[tuple[int, int], ...] = eqx.field(static=True)
    #: Joint coordinates (joint, number) whose turns, or whose inertia, matter.
    followed: tuple[tuple[int, int], ...] = eqx.field(static=True)
    coordinates: str = eqx.field(static=True)
    drawing: Any = eqx.field(static=True)
    solids: tuple[Solid, ...] = eqx.field(static=True)
    # last, because a system has these without a field too
    restitution: Any
    friction: Any
    bars: Any = eqx.field(static=True, default=())

    #: The functions that a system may have, defined in the class of a model that needs them.
    OPTIONAL: ClassVar[tuple[str, ...]] = (
        "holonomic", "nonholonomic", "force", "reaction", "gap", "tangent", "potential_invariants", "potential_of",
        "constraint_invariants", "constraint_of",
    )  # fmt: skip

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return self._placed_size + len(self.followed_coordinates) + len(self._without_rotor)

    @property
    def _placed_size(self) -> int:
        return sum(placement.size for placement in self.plan)

    @property
    def followed_coordinates(self) -> dict[tuple[int, int], int]:
        """The joint coordinates (joint, number) that are coordinates though they place no body, and where in q."""
        placing = self.placing_joints
        found = [pair for pair in self.followed if pair[0] not in placing]
        return {pair: self._placed_size + k for k, pair in enumerate(found)}

    @property
    def _without_rotor(self) -> tuple[tuple[int, int], ...]:
        """The followed coordinates that have companions, which are the last entries of q in this order."""
        return tuple(pair for pair in self.followed_coordinates if pair not in self.armature_joints)

    def _companions(self, q):
        return [q[self.size - len(self._without_rotor) + k] for k in range(len(self._without_rotor))]

    # -- kinematics ------------------------------------------------------------------------------------------------

    def configuration(self, q) -> Configuration:
        """Poses of all bodies and values of the joints that have coordinates."""
        poses, values = {GROUND: GROUND_POSE}, {}
        for placement in self.plan:
            numbers = q[placement.start : placement.start + placement.size]
            body = self.bodies[placement.body]
            if placement.how == "free":
                poses[placement.body] = Pose(body.name, numbers[:3], _directors(numbers[3:], body.kept))
                continue
            assert placement.joint is not None
            joint = self.joints[placement.joint]
            if placement.how == "directors":
                poses[placement.body] = _hung(joint, placement.backward, poses, body, numbers)
                continue
            values[placement.joint] = tuple(numbers[k] for k in range(placement.size))
            poses[placement.body] = _carried(joint, placement.backward, poses, body.name, values[placement.joint])
        followed = self.followed_coordinates
        configuration = Configuration(poses, values, frozenset(number for number, _ in followed))
        for (number, k), place in followed.items():
            known = configuration.joint_values(number, self.joints[number])
            values[number] = (*known[:k], q[place], *known[k + 1 :])
        return configuration

    def _motion(self, q):
        """Centres of mass, directors that carry mass, and values of the joints with armature."""
        configuration = self.configuration(q)
        centres = [configuration.poses[k].x for k in range(len(self.bodies))]
        directors = [[configuration.poses[k].directors[i] for i in body.kept] for k, body in enumerate(self.bodies)]
        turns = [configuration.joint_values(j, self.joints[j])[k] for j, k in self.armature_joints]
        return centres, directors, turns

    # -- energies --------------------------------------------------------------------------------------------------

    def kinetic_energies(self, q, v):
        """T of every body, and of every armature."""
        centres, directors, turns = jax.jvp(self._motion, (q,), (v,))[1]
        found = [
            0.5 * body.mass * (x @ x) + sum(0.5 * e * (d @ d) for e, d in zip(body.euler, ds, strict=True))
            for body, x, ds in zip(self.bodies, centres, directors, strict=True)
        ]
        return found, [0.5 * inertia * rate**2 for inertia, rate in zip(self.armatures, turns, strict=True)]

    def _companion_terms(self, v):
        """mu c' z', with mu any inertia of the size of the bodies': half the trace of the inertia of one of them."""
        found = []
        for (number, k), rate in zip(self._without_rotor, self._companions(v), strict=True):
            joint = self.joints[number]
            mu = sum(self.bodies[joint.first if joint.second == GROUND else joint.second].euler)
            found.append(mu * v[self.followed_coordinates[number, k]] * rate)
        return found

    def potential_energies(self, q):
        """The potential of gravity of every body, and of every force element."""
        configuration = self.configuration(q)
        weights = [-body.mass * _dot(self.gravity, configuration.poses[k].x) for k, body in enumerate(self.bodies)]
        return weights, [force.potential(force.measure(configuration, self.joints)) for force in self.forces]

    def lagrangian(self, t, q, v):
        """T - V."""
        kinetic, potential = self.kinetic_energies(q, v), self.potential_energies(q)
        motion = sum(kinetic[0]) + sum(kinetic[1]) + sum(self._companion_terms(v))
        return motion - sum(potential[0]) - sum(potential[1])

    # -- constraints -----------------------------------------------------------------------------------------------

    def constraint_rows(self, t, q) -> list[tuple[str, Any]]:
        """The holonomic constraints with their names."""
        configuration = self.configuration(q)
        found = []
        for placement in self.plan:
            if placement.how != "coordinates":
                found += _rigid(self.bodies[placement.body], configuration.poses[placement.body])
        placing = self.placing_joints
        for k, joint in enumerate(self.joints):
            if k not in placing:
                found += [
                    (f"{joint.name}: {name}", row) for name, row in joint.kind.rows(configuration.relative(joint))
                ]
        for coupling in self.couplings:
            found += [(f"{coupling.name}: {name}", row) for name, row in coupling.rows(t, configuration, self.joints)]
        for (number, k), place in self.followed_coordinates.items():
            joint = self.joints[number]
            row = joint.kind.deviation(configuration.relative(joint), k, q[place])
            found.append((f"{joint.name}: {joint.kind.coordinates[k]}", row))
        for (number, k), companion in zip(self._without_rotor, self._companions(q), strict=True):
            joint = self.joints[number]
            found.append((f"{joint.name}: companion of {joint.kind.coordinates[k]}", companion))
        return found

    @property
    def placing_joints(self) -> frozenset[int]:
        """The joints whose constraints hold by the choice of coordinates."""
        return frozenset(p.joint for p in self.plan if p.joint is not None)

    @property
    def is_made_of_vectors(self) -> bool:
        """True for places and directors; the coordinates of joints are angles and displacements."""
        return not self.followed_coordinates and all(placement.how != "coordinates" for placement in self.plan)

    def constraint_name(self, kind: str, row: int) -> str:
        """A constraint in the words of the model: the joint or the body, and what is locked."""
        names = row_names(self, kind)
        return names[row] if row < len(names) else super().constraint_name(kind, row)

    def _holonomic(self, t, q):
        return jnp.stack([jnp.asarray(row) for _, row in self.constraint_rows(t, q)])

    def velocity_rows(self, t, q, v) -> list[tuple[str, Any]]:
        """The nonholonomic constraints with their names."""
        return [
            (f"{coupling.name}: {name}", row)
            for coupling in self.couplings
            for name, row in coupling.velocity_rows(t, self, q, v)
        ]

    def _nonholonomic(self, t, q, v):
        return jnp.stack([jnp.asarray(row) for _, row in self.velocity_rows(t, q, v)])

    # -- forces ----------------------------------------------------------------------------------------------------

    def _force(self, t, q, v):
        """s_q^T f(t, s, s') of all elements that have a law."""
        elements = [force for force in self.forces if force.has_law]

        def measures(q):
            configuration = self.configuration(q)
            return [force.measure(configuration, self.joints) for force in elements]

        s, rates = jax.jvp(measures, (q,), (v,))
        laws = [force.law(t, x, rate) for force, x, rate in zip(elements, s, rates, strict=True)]
        return jax.vjp(measures, q)[1](laws)[0]

    def _reaction(self, t, q, v, psi):
        """The friction of loaded bearings, s_q^T f(s', |F|^2): the rows of a joint's position are projections on unit
        vectors at right angles, so that |F|^2 is the sum of the squares of their multipliers."""
        rows = {name: k for k, (name, _) in enumerate(self.constraint_rows(t, q))}
        elements = [force for force in self.forces if isinstance(force, BearingFriction)]

        def measures(q):
            configuration = self.configuration(q)
            return [force.measure(configuration, self.joints) for force in elements]

        rates = jax.jvp(measures, (q,), (v,))[1]
        laws = []
        for force, rate in zip(elements, rates, strict=True):
            held = [f"{self.joints[force.joint].name}: position {k}" for k in "xyz"]
            squared = sum(psi[rows[name]] ** 2 for name in held if name in rows)
            laws.append(force.friction(rate, squared))
        return jax.vjp(measures, q)[1](laws)[0]

    # -- contacts --------------------------------------------------------------------------------------------------

    def _gap(self, t, q):
        configuration = self.configuration(q)
        return jnp.stack([contact.gap(configuration, self.joints) for contact in self.contacts])

    def _tangent(self, t, q):
        return sliding_rows(self, q)

    # -- invariants, of which energy-momentum methods make their discrete derivatives ------------------------------

    def _potential_invariants(self, q):
        configuration = self.configuration(q)
        parts = [jnp.asarray(_dot(self.gravity, configuration.poses[k].x))[None] for k in range(len(self.bodies))]
        parts += [force.invariants(configuration) for force in self._potential_forces()]
        return jnp.concatenate(parts)

    def _potential_of(self, pi):
        count = len(self.bodies)
        terms = [-jnp.stack([jnp.asarray(body.mass) for body in self.bodies]) * pi[:count]]
        for force in self._potential_forces():
            size = force.sizes
            terms.append(force.terms(pi[count : count + size]))
            count += size
        return jnp.concatenate(terms)

    def _potential_forces(self):
        return [force for force in self.forces if type(force).potential is not ForceElement.potential]

    def _constraint_invariants(self, q):
        return self._holonomic(0.0, q)

    def _constraint_of(self, zeta):
        return zeta

    # -- pictures --------------------------------------------------------------------------------------------------

    def points(self, t, q):
        """The points of all shapes, and of what else is drawn."""
        configuration = self.configuration(q)
        found = [
            pose.x + np.array(points) @ jnp.stack([jnp.zeros(3) if d is None else d for d in pose.directors])
            for pose, points in ((configuration.poses[body], points) for body, points in self.drawing)
        ]
        return jnp.concatenate(found)


def _dot(constant: Triple, x):
    """A constant vector times a variable one."""
    return _sum(constant.entries(), [x[k] for k in range(3)], jnp.zeros(()))


def _directors(numbers, kept: tuple[int, ...]) -> tuple[Any, ...]:
    """All three directors from those that are coordinates; the third of two is their vector product."""
    found: list[Any] = [None, None, None]
    for place, k in enumerate(kept):
        found[k] = numbers[3 * place : 3 * place + 3]
    if len(kept) == 2:
        (dead,) = set(range(3)) - set(kept)
        found[dead] = jnp.cross(found[(dead + 1) % 3], found[(dead + 2) % 3])
    return tuple(found)


def _rigid(body: BodyElement, pose: Pose) -> list[tuple[str, Any]]:
    """The directors that are coordinates have length 1 and are perpendicular."""
    d = pose.directors
    lengths = [(f"{body.name}: length of director {k + 1}", 0.5 * (d[k] @ d[k] - 1.0)) for k in body.kept]
    pairs = [(i, j) for i in body.kept for j in body.kept if i < j]
    return lengths + [(f"{body.name}: directors {i + 1} and {j + 1}", d[i] @ d[j]) for i, j in pairs]


def row_names(system: MultibodySystem, kind: str = "holonomic") -> tuple[str, ...]:
    """The names of the holonomic (or nonholonomic) constraints, in their order. They are found by tracing, which takes
    long, and depend on the structure of the system only."""
    key = jax.tree_util.tree_structure(system), kind
    if key not in _ROW_NAMES:
        while len(_ROW_NAMES) >= MOST_STRUCTURES:
            _ROW_NAMES.pop(next(iter(_ROW_NAMES)), None)
        _ROW_NAMES[key] = _traced_names(system, kind)
    return _ROW_NAMES[key]


#: Systems of so many structures have the names of their constraints kept.
MOST_STRUCTURES = 64
_ROW_NAMES: dict[tuple[Any, str], tuple[str, ...]] = {}


def _traced_names(system: MultibodySystem, kind: str) -> tuple[str, ...]:
    names: list[str] = []

    def rows(t, q):
        found = system.constraint_rows(t, q) if kind == "holonomic" else system.velocity_rows(t, q, q)
        names[:] = [name for name, _ in found]
        return 0.0

    jax.eval_shape(rows, jax.ShapeDtypeStruct((), jnp.float64), jax.ShapeDtypeStruct((system.size,), jnp.float64))
    return tuple(names)


def _hung(joint: JointElement, backward: bool, poses, body: BodyElement, numbers) -> Pose:
    """A body at a common point with another one, with free directors."""
    sides = [(joint.first, joint.on_first), (joint.second, joint.on_second)]
    (other, theirs), (_, mine) = reversed(sides) if backward else sides
    pose = Pose(body.name, jnp.zeros(3), _directors(numbers, body.kept))
    return pose._replace(x=poses[other].point(theirs.position) - pose.point(mine.position))


def _carried(joint: JointElement, backward: bool, poses, name: str, values) -> Pose:
    """A body placed by the coordinates of its joint with another one."""
    shift, turn = joint.kind.motion(values)
    if backward:
        pose, theirs, mine = poses[joint.second], joint.on_second, joint.on_first
        f = [pose.along(axis) for axis in theirs.axes]
        axes = [_sum(turn[i], f) for i in range(3)]
        point = pose.point(theirs.position) - _sum(shift, axes)
    else:
        pose, theirs, mine = poses[joint.first], joint.on_first, joint.on_second
        e = [pose.along(axis) for axis in theirs.axes]
        axes = [_sum([turn[i][j] for i in range(3)], e) for j in range(3)]
        point = pose.point(theirs.position) + _sum(shift, e)
    entries = [axis.entries() for axis in mine.axes]
    directors = tuple(_sum([entries[j][k] for j in range(3)], axes) for k in range(3))
    placed = Pose(name, jnp.zeros(3), directors)
    return placed._replace(x=point - placed.point(mine.position))


def _sum(weights, vectors, nothing=None):
    """sum_k weights_k vectors_k; the ints among the weights are structure."""
    total = None
    for weight, part in zip(weights, vectors, strict=True):
        if isinstance(weight, int) and weight == 0:
            continue
        term = (part if weight == 1 else -part) if isinstance(weight, int) else weight * part
        total = term if total is None else total + term
    if total is None:
        return jnp.zeros(3) if nothing is None else nothing
    return total
