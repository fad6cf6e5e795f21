"""A run of a multibody model in the user's words: joints, bodies, contacts and energies by name.

Everything is computed from the poses and their rates, whatever the coordinates of the run are. Reactions are the
multipliers of the formulation by directors at the same state, where every joint has rows g_j with multipliers lam_j: a
joint exerts on its second body the forces -(dg_j/dx)^T lam_j at its centre and f_k = -(dg_j/dd_k)^T lam_j on its
directors, that is the torque sum_k d_k x f_k.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import shown
from ..engine import RowFunction
from ..errors import InputError, ModelError
from ..multibody import GROUND, MultibodySystem, Screw, as_directors, row_names
from ..stepping import (
    Family,
    equation_rows,
    flat_parameters,
    for_family,
    independent_rows,
    is_traced,
    least_norm,
    multipliers,
    observe,
    redundant_multipliers,
)
from .record import Trajectory, check_single

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Reaction:
    """What a joint exerts on its second body, in space: the force at the joint's point, and the torque about it."""

    force: np.ndarray
    torque: np.ndarray


@dataclass(frozen=True)
class BodyMotion:
    """The motion of a body, time first, in space.

    Attributes:
        position: the origin of the body's frame, (N, 3).
        rotation: the axes of the body's frame as columns, (N, 3, 3).
        velocity: of the origin.
        angular_velocity: of the body.
        centre: the centre of mass.
        momentum: mass times the velocity of the centre of mass.
        angular_momentum: about the centre of mass.
        kinetic_energy: of translation and rotation.
    """

    position: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular_velocity: np.ndarray
    centre: np.ndarray
    momentum: np.ndarray
    angular_momentum: np.ndarray
    kinetic_energy: np.ndarray


class JointMotion:
    """The motion of a joint, time first: `values` and `rates` hold its coordinates by name."""

    def __init__(self, mechanism: Mechanism, number: int) -> None:
        self._mechanism, self._number = mechanism, number
        joint = mechanism.system.joints[number]
        self.name, names = joint.name, joint.kind.coordinates
        values, rates = mechanism.joint_coordinates(number)
        self.values = {name: values[:, k] for k, name in enumerate(names)}
        self.rates = {name: rates[:, k] for k, name in enumerate(names)}

    def _first(self, what: dict[str, np.ndarray], name: str) -> np.ndarray:
        if name not in what:
            known = ", ".join(what) or "none"
            raise InputError(f"joint {self.name!r} has no {name}; its coordinates are: {known}.")
        return what[name]

    @property
    def angle(self) -> np.ndarray:
        """The angle, with turns counted."""
        return self._first(self.values, "angle")

    @property
    def position(self) -> np.ndarray:
        """The displacement along the axis."""
        return self._first(self.values, "position")

    @property
    def rate(self) -> np.ndarray:
        """The rate of the first coordinate."""
        if not self.rates:
            raise InputError(f"joint {self.name!r} has no coordinates of its own.")
        return next(iter(self.rates.values()))

    @functools.cached_property
    def reaction(self) -> Reaction:
        """The reaction of the joint's constraints on its second body."""
        return self._mechanism.reaction(self._number)

    @functools.cached_property
    def effort(self) -> np.ndarray:
        """The torque (or force) of the springs, dampers and motors on the first coordinate."""
        return self._mechanism.effort(self._number)

    @property
    def power(self) -> np.ndarray:
        """effort times rate."""
        return self.effort * self.rate


class Mechanism:
    """Poses, rates and reactions of a run, each computed once."""

    def __init__(self, run: Trajectory) -> None:
        check_single(run, "look into joints and bodies")
        system = run.system
        if not isinstance(system, MultibodySystem):
            name = "no system" if system is None else type(system).__name__
            raise InputError(f"joints and bodies are those of a da.Multibody model; this run has {name}.")
        self.run, self.system = run, system

    def _rows(self, name: str, system: MultibodySystem | None = None, q=None, v=None) -> np.ndarray:
        system = self.system if system is None else system
        q, v = (self.run.q if q is None else q), (self.run.v if v is None else v)
        vectors = np.broadcast_to(flat_parameters(system), (len(q), Family(system).size))
        return _observed(Family(system), name)(np.asarray(self.run.t), np.asarray(q), np.asarray(v), vectors)

    @functools.cached_property
    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """(N, bodies, 4, 3): centres of mass and directors, and their rates."""
        found = self._rows("poses").reshape(len(self.run.t), 2, -1, 4, 3)
        return found[:, 0], found[:, 1]

    def joint_coordinates(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of a joint and their rates, (N, k).

        Angles that are measured at poses are followed from one saved state to the next: of all turns, that is taken
        which is nearest to what the rates at both ends make expect. Angles that are coordinates know their turns.
        """
        first = sum(len(joint.kind.coordinates) for joint in self.system.joints[:number])
        names = self.system.joints[number].kind.coordinates
        columns = slice(first, first + len(names))
        both = self._coordinates
        values, rates = both[:, 0, columns].copy(), both[:, 1, columns]
        for k, name in enumerate(names):
            if "angle" in name and number not in self._counted:
                values[:, k] = _followed(np.asarray(self.run.t), values[:, k], rates[:, k])
        return values, rates

    @functools.cached_property
    def _counted(self) -> frozenset[int]:
        """The joints whose angles are known with their turns: coordinates, and threads, whose displacement tells."""
        system = self.system
        placed = {p.joint for p in system.plan if p.how == "coordinates" and p.joint is not None}
        threads = {k for k, joint in enumerate(system.joints) if isinstance(joint.kind, Screw)}
        return frozenset(placed | threads | {joint for joint, _ in system.followed_coordinates})

    @functools.cached_property
    def _coordinates(self) -> np.ndarray:
        return self._rows("coordinates").reshape(len(self.run.t), 2, -1)

    def body(self, name: str) -> BodyMotion:
        """The motion of the body of this name."""
        frame = next((frame for frame in self.system.frames if frame.name == name), None)
        if frame is None:
            known = ", ".join(repr(frame.name) for frame in self.system.frames)
            raise InputError(f"there is no body {shown(name)}; the bodies are {known}.")
        if frame.body == GROUND:
            raise InputError("the ground does not move.")
        element = self.system.bodies[frame.body]
        pose, rate = (part[:, frame.body] for part in self.poses)
        x, d, dx, dd = pose[:, 0], pose[:, 1:], rate[:, 0], rate[:, 1:]
        offset, axes = frame.frame.position.array(), np.stack([axis.array() for axis in frame.frame.axes])
        spin = 0.5 * np.sum(np.cross(d, dd), axis=1)
        kept, euler, mass = list(element.kept), np.array(element.euler, dtype=float), float(element.mass)
        turning = np.einsum("k,nki->ni", euler, np.cross(d[:, kept], dd[:, kept]))
        kinetic = 0.5 * mass * np.sum(dx**2, axis=1) + 0.5 * np.einsum("k,nki->n", euler, dd[:, kept] ** 2)
        return BodyMotion(
            position=x + np.einsum("k,nki->ni", offset, d),
            rotation=np.einsum("ak,nki->nia", axes, d),
            velocity=dx + np.einsum("k,nki->ni", offset, dd),
            angular_velocity=spin,
            centre=x,
            momentum=mass * dx,
            angular_momentum=turning,
            kinetic_energy=kinetic,
        )

    def joint(self, name: str) -> JointMotion:
        """The motion of the joint of this name."""
        numbers = {joint.name: k for k, joint in enumerate(self.system.joints)}
        if name not in numbers:
            known = ", ".join(map(repr, numbers)) or "none"
            raise InputError(f"there is no joint {shown(name)}; the joints are {known}.")
        return JointMotion(self, numbers[name])

    def effort(self, number: int) -> np.ndarray:
        """The generalised force of all elements on the first coordinate of a joint."""
        return self._rows("efforts")[:, number]

    @functools.cached_property
    def _reactions(self) -> tuple[tuple[str, ...], np.ndarray, np.ndarray, MultibodySystem]:
        """Names of the rows of the formulation by directors, their multipliers and derivatives."""
        twin = as_directors(self.system)
        poses, rates = self.poses
        followed = [[part[:, k : k + 1] for part in self.joint_coordinates(j)] for j, k in twin.followed_coordinates]
        q, v = (
            _padded([*(_kept(part[:, p.body], twin.bodies[p.body].kept) for p in twin.plan), *own], twin.size)
            for part, own in zip((poses, rates), zip(*followed, strict=True) if followed else ((), ()), strict=True)
        )
        t, parameters = np.asarray(self.run.t), np.asarray(flat_parameters(twin))
        vectors = np.broadcast_to(parameters, (len(t), len(parameters)))
        p = -equation_rows(twin, "legendre by p", np.zeros_like(v), t, q, v, parameters=vectors)
        if "holonomic" not in twin.parts:
            raise ModelError("there are no joints, and no reactions.")
        rows, names = independent_rows(twin, float(t[0]), q[0], "allow"), row_names(twin)
        if rows is None:
            lam = multipliers(twin, None, t, q, v, p)
        else:
            lam = least_norm(twin, t, q, redundant_multipliers(twin, rows, t, q, v, p, len(names))[0])
        jacobian = observe(twin, "gradients", t, q, v, p).reshape(len(t), len(names), -1)
        return names, lam[:, : len(names)], jacobian, twin

    def reaction(self, number: int) -> Reaction:
        """See `Reaction`."""
        joint = self.system.joints[number]
        if number in as_directors(self.system).placing_joints:
            raise ModelError(
                f"the reaction of joint {joint.name!r} is not known: it connects a body without mass, which is placed "
                "by the coordinates of its joints. Give that body a mass, or look at the next joint."
            )
        names, lam, jacobian, twin = self._reactions
        rigid = sum(len(body.kept) * (len(body.kept) + 1) // 2 for body in twin.bodies)
        tied = {f"{joint.name}: {of}{name}" for name in joint.kind.coordinates for of in ("", "companion of ")}
        mine = [
            k for k, name in enumerate(names)
            if k >= rigid and name.startswith(f"{joint.name}: ") and name not in tied
        ]  # fmt: skip
        body, frame, sign = joint.second, joint.on_second, -1.0
        if body == GROUND:
            body, frame, sign = joint.first, joint.on_first, 1.0
        forces = sign * np.einsum("nm,nmj->nj", lam[:, mine], jacobian[:, mine])
        placement = next(p for p in twin.plan if p.body == body)
        force = forces[:, placement.start : placement.start + 3]
        d = self.poses[0][:, body, 1:]
        torque = np.zeros_like(force)
        for place, k in enumerate(twin.bodies[body].kept):
            start = placement.start + 3 + 3 * place
            torque += np.cross(d[:, k], forces[:, start : start + 3])
        arm = np.einsum("k,nki->ni", frame.position.array(), d)
        return Reaction(force, torque - np.cross(arm, force))

    def contact(self, which: str | int) -> ContactMotion:
        """What a contact did, by its name or its number."""
        names = [contact.name for contact in self.system.contacts]
        number = names.index(which) if which in names else which
        if not isinstance(number, int | np.integer) or not 0 <= number < len(names):
            known = ", ".join(map(repr, names)) or "none"
            raise InputError(f"there is no contact {shown(which)}; the contacts are {known}.")
        gap = observe(self.system, "gap", self.run.t, self.run.q, self.run.v, self.run.p)[:, number]
        return ContactMotion(names[number], gap, np.asarray(self.run.impulse)[:, number])

    def dataset(self) -> xr.Dataset:
        """Joints, bodies and energies as named variables."""
        found: dict[str, Any] = {}
        for joint in self.system.joints:
            motion = self.joint(joint.name)
            found |= {f"{joint.name}: {name}": ("time", values) for name, values in motion.values.items()}
            found |= {f"{joint.name}: rate of {name}": ("time", rates) for name, rates in motion.rates.items()}
        for frame in self.system.frames:
            if frame.body == GROUND:
                continue
            motion = self.body(frame.name)
            vectors = ("position", "velocity", "angular_velocity", "momentum")
            found |= {
                f"{frame.name}: {name.replace('_', ' ')}": (("time", "axis"), getattr(motion, name)) for name in vectors
            }
        found |= {name: ("time", values) for name, values in self.energies().items()}
        import xarray as xr

        return xr.Dataset(found, coords={"time": np.asarray(self.run.t), "axis": ["x", "y", "z"]})

    def energies(self) -> dict[str, np.ndarray]:
        """Kinetic energies of bodies, potential energies of gravity and of force elements, by name."""
        values, system = self._rows("energies"), self.system
        names = [f"kinetic energy of {body.name}" for body in system.bodies]
        names += [f"kinetic energy of the armature of {system.joints[j].name}" for j, _ in system.armature_joints]
        names += [f"weight of {body.name}" for body in system.bodies]
        names += [force.name for force in system.forces]
        return {name: values[:, k] for k, name in enumerate(names)}


@dataclass(frozen=True)
class ContactMotion:
    """A contact: its distance, and the impulses during the step before each state (normal first)."""

    name: str
    gap: np.ndarray
    impulse: np.ndarray


def _followed(t: np.ndarray, angle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Angles known up to turns, joined: angle_1 - angle_0 is the turn nearest to (t_1 - t_0) (rate_0 + rate_1) / 2."""
    expected = np.diff(t) * (rate[1:] + rate[:-1]) / 2
    steps = np.diff(angle)
    steps = steps + 2 * np.pi * np.round((expected - steps) / (2 * np.pi))
    return angle[0] + np.concatenate([[0.0], np.cumsum(steps)])


def _padded(parts: list[np.ndarray], size: int) -> np.ndarray:
    """Side by side, and zeros up to a size: companions of followed coordinates are zero."""
    found = np.concatenate(parts, axis=1)
    return np.pad(found, ((0, 0), (0, size - found.shape[1])))


def _kept(part: np.ndarray, kept: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([part[:, 0], *(part[:, 1 + k] for k in kept)], axis=1)


def _all_poses(system: MultibodySystem, q):
    poses = system.configuration(q).poses
    none = jnp.full(3, jnp.nan)
    return [
        jnp.stack([poses[k].x, *(none if d is None else d for d in poses[k].directors)])
        for k in range(len(system.bodies))
    ]


def _all_coordinates(system: MultibodySystem, q):
    configuration = system.configuration(q)
    return [
        jnp.asarray(x, jnp.float64)
        for k, joint in enumerate(system.joints)
        for x in configuration.joint_values(k, joint)
    ]


def _with_rates(function, system: MultibodySystem, q, v):
    values, rates = jax.jvp(lambda q: function(system, q), (q,), (v,))
    return _flat([*values, *rates])


def _flat(parts):
    return jnp.concatenate([jnp.ravel(part) for part in parts]) if parts else jnp.zeros(0)


def _efforts(system: MultibodySystem, t, q, v):
    """The force of all elements on the first coordinate of every joint."""
    configuration_rates = jax.jvp(lambda q: [f.measure(system.configuration(q), system.joints) for f in system.forces],
                                  (q,), (v,))  # fmt: skip
    total: list[Any] = [jnp.zeros(()) for _ in system.joints]
    for force, s, rate in zip(system.forces, *configuration_rates, strict=True):
        joint = force.on_joint
        if joint is not None:
            pull = force.law(t, s, rate) if force.has_law else jnp.zeros(1)
            total[joint] = total[joint] + pull[0] - jax.grad(lambda s, f=force: jnp.asarray(f.potential(s)))(s)[0]
    return _flat(total)


def _energies(system: MultibodySystem, q, v):
    kinetic, potential = system.kinetic_energies(q, v), system.potential_energies(q)
    return _flat([jnp.asarray(x, jnp.float64) for x in (*kinetic[0], *kinetic[1], *potential[0], *potential[1])])


OBSERVED = {
    "poses": lambda system, t, q, v: _with_rates(_all_poses, system, q, v),
    "coordinates": lambda system, t, q, v: _with_rates(_all_coordinates, system, q, v),
    "efforts": _efforts,
    "energies": lambda system, t, q, v: _energies(system, q, v),
}


@for_family()
def _observed(family: Family, name: str) -> RowFunction:
    return RowFunction(lambda t, q, v, parameters: OBSERVED[name](family.at(parameters), t, q, v))


def mechanism_of(run: Trajectory) -> Mechanism:
    """The mechanism of a run, kept with it."""
    if is_traced(run.q):
        raise InputError("a traced trajectory has no numbers yet; look into it outside jit, vmap and grad.")
    if "_mechanism" not in vars(run):
        vars(run)["_mechanism"] = Mechanism(run)
    return vars(run)["_mechanism"]


def joint(self: Trajectory, name: str) -> JointMotion:
    """The motion of a joint of a `da.Multibody` model: `.angle`, `.rate`, `.reaction`, `.power`."""
    return mechanism_of(self).joint(name)


def body(self: Trajectory, name: str) -> BodyMotion:
    """The motion of a body of a `da.Multibody` model: `.position`, `.rotation`, `.velocity`, `.momentum`."""
    return mechanism_of(self).body(name)


def contact(self: Trajectory, which: str | int) -> ContactMotion:
    """A contact of a `da.Multibody` model by name or number: `.gap`, `.impulse`."""
    return mechanism_of(self).contact(which)


def energies(self: Trajectory) -> dict[str, np.ndarray]:
    """The energies of a `da.Multibody` model by element."""
    return mechanism_of(self).energies()


def motions(self: Trajectory) -> xr.Dataset:
    """Joints, bodies and energies of a `da.Multibody` model as an xarray dataset, by name."""
    return mechanism_of(self).dataset()
