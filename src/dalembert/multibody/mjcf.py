"""Models from MJCF files, through the compiled model of the package `mujoco`: defaults, includes and units are resolved
there, and never read here.

A body of MJCF hangs on its parent by a chain of joints; bodies without mass stand between several joints. The drawing
is the configuration `qpos0`, from which joint coordinates count here. Equality constraints become hard. What the
compiled model holds and these equations do not is an error, unless `ignore` names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, ModelError
from .bodies import Body, Surface
from .joints import Fixed, Joint, Prismatic, Revolute, Spherical
from .mjcf_contacts import read_contacts
from .model import Multibody
from .shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from .touching import Plane
from .vectors import from_quaternion

FREE, BALL, SLIDE, HINGE = range(4)
CONNECT, WELD, JOINT = range(3)
#: Bit of `opt.disableflags` that switches gravity off.
NO_GRAVITY = "mjDSBL_GRAVITY"


def load_mjcf(path, *, ignore: tuple[str, ...], restitution: float = 0.0) -> Multibody:
    """The model of an MJCF file; see `load_model`."""
    try:
        import mujoco  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InputError(
            "MJCF files are read through the package mujoco, which is not installed: pip install 'dalembert[mujoco]'."
        ) from error
    try:
        compiled = mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"{path}: mujoco does not read it: {str(error).strip()}") from error
    try:
        return from_compiled(compiled, ignore=ignore, restitution=restitution)
    except (ModelError, InputError) as error:
        raise ModelError(f"{path}: {error}") from error


def from_compiled(
    compiled: Any, *, ignore: tuple[str, ...] = (), name: str = "Mjcf", restitution: float = 0.0
) -> Multibody:  # fmt: skip
    """The model of a compiled `mujoco.MjModel`."""
    import mujoco  # pyright: ignore[reportMissingImports]

    return _Reader(mujoco, compiled, set(ignore), restitution).model(name)


@dataclass(frozen=True)
class Actuator:
    """gear (gain u + b_0 + b_1 length + b_2 rate), with length = gear q and the control u = x.control, or a function of
    time; clipped to its ranges."""

    gear: float
    gain: float
    bias: tuple[float, float, float]
    start: float
    control_range: tuple[float, float] | None
    force_range: tuple[float, float] | None
    control: Callable | None

    def __call__(self, t, x):
        import jax.numpy as jnp

        u = x.control if self.control is None else self.control(t)
        u = u if self.control_range is None else jnp.clip(u, *self.control_range)
        force = self.gain * u + self.bias[0] + self.bias[2] * self.gear * x.rate
        if self.bias[1]:  # a law that does not look at the angle needs no count of its turns
            force = force + self.bias[1] * self.gear * (x.angle + self.start)
        return self.gear * (force if self.force_range is None else jnp.clip(force, *self.force_range))


@dataclass(frozen=True)
class Constant:
    """A function of time that does not change."""

    value: float

    def __call__(self, t):
        return self.value + 0.0 * t


class _Reader:
    def __init__(self, mujoco: Any, compiled: Any, ignore: set[str], restitution: float) -> None:
        self.mujoco, self.m, self.ignore, self.restitution = mujoco, compiled, ignore, restitution
        self.missing: dict[str, list[str]] = {}
        self.remarks: list[str] = []

    def name(self, kind: str, number: int) -> str:
        """The name of an object; objects without one are numbered."""
        found = self.mujoco.mj_id2name(self.m, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}"), number)
        return found or f"{kind} {number}"

    def lacks(self, what: str, where: str) -> None:
        """Something without counterpart."""
        if what in self.ignore:
            self.remarks.append(f"left out: {what} ({where})")
        else:
            self.missing.setdefault(what, []).append(where)

    # -- the model -------------------------------------------------------------------------------------------------

    def model(self, name: str) -> Multibody:
        """The whole model."""
        m = self.m
        off = m.opt.disableflags & int(getattr(self.mujoco.mjtDisableBit, NO_GRAVITY))
        model = Multibody(gravity=np.zeros(3) if off else m.opt.gravity.copy(), name=name)
        bodies, places = {0: model.ground}, {0: (np.zeros(3), np.eye(3))}
        for k in range(1, m.nbody):
            parent = int(m.body_parentid[k])
            x, turn = places[parent]
            places[k] = x + turn @ m.body_pos[k], turn @ from_quaternion("body_quat", m.body_quat[k])
            bodies[k] = self._body(model, k, *places[k])
            self._joints(model, k, bodies[parent], bodies[k], places[k])
        self.bodies = bodies
        for k in range(m.neq):
            self._equality(model, k)
        for k in range(m.nactuator):
            self._actuator(model, k)
        self._rest()
        read_contacts(self, model, self.restitution)
        if self.missing:
            what = "; ".join(f"{key} ({', '.join(names[:5])})" for key, names in self.missing.items())
            raise ModelError(
                f"this model has what has no counterpart here: {what}. ignore=[...] leaves it out by name."
            )
        model.remarks = tuple(self.remarks)
        return model

    def _body(self, model: Multibody, k: int, place: np.ndarray, turn: np.ndarray) -> Body:
        m = self.m
        axes = from_quaternion("body_iquat", m.body_iquat[k])
        inertia = axes @ np.diag(m.body_inertia[k]) @ axes.T
        if m.body_gravcomp[k]:
            self.lacks("gravcomp", self.name("body", k))
        if m.body_mocapid[k] >= 0:
            self.lacks("mocap", self.name("body", k))
        return model.body(
            self.name("body", k), float(m.body_mass[k]), (inertia + inertia.T) / 2, m.body_ipos[k].copy(),
            shape=self._shapes(k), at=place, rotation=turn,
        )  # fmt: skip

    def geom_kind(self, g: int) -> str:
        """The type of a geom in the words of `Multibody.contact`."""
        return self.mujoco.mjtGeom(int(self.m.geom_type[g])).name.removeprefix("mjGEOM_").capitalize()

    def _geom(self, g: int) -> Shape | None:
        """The shape of a geom, a mesh by the box around it; planes and height fields are none."""
        m, size = self.m, self.m.geom_size[g]
        turn = from_quaternion("geom_quat", m.geom_quat[g])
        placed: dict[str, Any] = {"at": tuple(m.geom_pos[g].tolist()), "rotation": tuple(map(tuple, turn.tolist()))}
        match self.geom_kind(g):
            case "Sphere":
                return Sphere(float(size[0]), **placed)
            case "Capsule":
                return Capsule(float(size[0]), 2 * float(size[1]), **placed)
            case "Ellipsoid":
                return Ellipsoid(tuple(size.tolist()), **placed)
            case "Cylinder":
                return Cylinder(float(size[0]), 2 * float(size[1]), **placed)
            case "Box" | "Mesh":
                return Box(tuple((2 * size).tolist()), **placed)
        return None

    def _shapes(self, k: int) -> list[Shape]:
        m = self.m
        geoms = range(int(m.body_geomadr[k]), int(m.body_geomadr[k]) + int(m.body_geomnum[k]))
        return [shape for g in geoms if (shape := self._geom(g)) is not None]

    def surface(self, model: Multibody, g: int) -> Surface | Plane | None:
        """A geom for contact."""
        m, body = self.m, self.bodies[int(self.m.geom_bodyid[g])]
        if self.geom_kind(g) == "Plane":
            normal = from_quaternion("geom_quat", m.geom_quat[g])[:, 2]
            return model.plane(normal, tuple(m.geom_pos[g].tolist()), body)
        shape = self._geom(g)
        return None if shape is None else body.surface(shape)

    def _joints(self, model: Multibody, k: int, parent: Body, body: Body, place) -> None:
        m = self.m
        joints = range(int(m.body_jntadr[k]), int(m.body_jntadr[k]) + int(m.body_jntnum[k]))
        if not joints:
            model.weld(parent, body)
        for j in joints:
            last, name = j == joints[-1], self.name("joint", j)
            if last:
                below = body
            else:
                if int(m.jnt_type[j]) == BALL:
                    self.lacks("ball before another joint", name)
                below = model.body(f"{body.name} behind {name}", 0.0, (0.0, 0.0, 0.0), at=place[0], rotation=body.turn)
            self._joint(model, j, name, parent, below, place)
            parent = below

    def _joint(self, model: Multibody, j: int, name: str, parent: Body, below: Body, place) -> None:
        m, kind, dof = self.m, int(self.m.jnt_type[j]), int(self.m.jnt_dofadr[j])
        count = {FREE: 6, BALL: 3, SLIDE: 1, HINGE: 1}[kind]
        dofs = slice(dof, dof + count)
        if kind in (FREE, BALL):
            for what in ("dof_damping", "dof_armature", "dof_frictionloss"):
                if np.any(getattr(m, what)[dofs]):
                    self.lacks(f"{what.removeprefix('dof_')} of a free or ball joint", name)
            if m.jnt_stiffness[j] or m.jnt_limited[j]:
                self.lacks("spring or limit of a free or ball joint", name)
        if np.any(m.dof_dampingpoly[dofs]) or np.any(m.jnt_stiffnesspoly[j]):
            self.lacks("polynomial stiffness or damping", name)
        if m.jnt_actfrclimited[j]:
            self.lacks("actuatorfrcrange", name)
        if kind == FREE:
            return
        at = place[0] + place[1] @ m.jnt_pos[j]
        axis = tuple((place[1] @ m.jnt_axis[j]).tolist())
        if kind == BALL:
            model.joint(name, parent, below, Spherical(), at=at)
            return
        start = float(m.qpos0[m.jnt_qposadr[j]])
        options: dict[str, Any] = {}
        if m.jnt_limited[j]:
            options["limits"] = tuple((m.jnt_range[j] - start).tolist())
        if m.dof_armature[dof]:
            options["armature"] = float(m.dof_armature[dof])
        if m.dof_damping[dof] or m.dof_frictionloss[dof]:
            options |= {"damping": float(m.dof_damping[dof]), "friction": float(m.dof_frictionloss[dof])}
        if m.jnt_stiffness[j]:
            rest = float(m.qpos_spring[m.jnt_qposadr[j]]) - start
            options |= {"stiffness": float(m.jnt_stiffness[j]), "rest": rest}
        turn: Joint = Revolute(axis) if kind == HINGE else Prismatic(axis)
        model.joint(name, parent, below, turn, at=at, **options)
        if start:
            self.remarks.append(f"joint {name!r}: its coordinate counts from {start:g}, its value as drawn")

    # -- constraints and actuators ---------------------------------------------------------------------------------

    def _equality(self, model: Multibody, k: int) -> None:
        m, name, kind, data = self.m, self.name("equality", k), int(self.m.eq_type[k]), self.m.eq_data[k]
        if not m.eq_active0[k]:
            self.lacks("inactive equality", name)
            return
        first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        by_body = int(m.eq_objtype[k]) == int(self.mujoco.mjtObj.mjOBJ_BODY)
        if kind in (CONNECT, WELD) and not by_body:
            self.lacks("equality of sites", name)
        elif kind == CONNECT:
            points = self.bodies[first].point(data[:3].copy()), self.bodies[second].point(data[3:6].copy())
            model.joint(name, *points, Spherical())
        elif kind == WELD:
            a, b = self.bodies[first], self.bodies[second]
            # the anchor in the second body, then the second's pose in the first
            turn = from_quaternion("relpose of a weld", data[6:10])
            drawn = np.allclose(a.turn @ turn, b.turn, atol=1e-9) and np.allclose(
                a.drawn(data[3:6]), b.drawn(data[:3]), atol=1e-9
            )
            if not drawn:
                self.lacks("weld with another pose than drawn", name)
                return
            model.joint(name, a, b.point(data[:3].copy()), Fixed(), at=b.drawn(data[:3]))
        elif kind == JOINT:
            self._joint_equality(model, name, first, second, data)
        else:
            self.lacks("equality of tendons or flexes", name)
            return
        self.remarks.append(f"equality {name!r} is a hard constraint here")

    def _joint_equality(self, model: Multibody, name: str, first: int, second: int, data) -> None:
        joints = [self.name("joint", j) for j in (first, second) if j >= 0]
        if not all(joint in model.joints and model.joints[joint].kind.coordinates for joint in joints):
            self.lacks("equality of free or ball joints", name)
        elif second < 0:
            model.prescribe(joints[0], Constant(float(data[0])))
        elif np.any(data[2:5]) or not data[1]:
            self.lacks("equality of joints with a polynomial", name)
        else:
            model.gear(name, joints[1], joints[0], float(data[1]), float(data[0]))

    def _actuator(self, model: Multibody, k: int) -> None:
        m, name = self.m, self.name("actuator", k)
        j = int(m.actuator_trnid[k, 0])
        on_joint = int(m.actuator_trntype[k]) in (0, 1) and int(m.jnt_type[j]) in (SLIDE, HINGE)
        if not on_joint or np.any(m.actuator_gear[k, 1:]) or int(m.actuator_dyntype[k]) != 0:
            self.lacks("actuator on no hinge or slide, or with a state", name)
            return
        if int(m.actuator_gaintype[k]) != 0 or int(m.actuator_biastype[k]) > 1:
            self.lacks("actuator with a gain or bias of its own", name)
            return
        if any(np.any(getattr(m, field)[k]) for field in ("actuator_armature", "actuator_damping", "actuator_delay")):
            self.lacks("armature, damping or delay of an actuator", name)
        affine = int(m.actuator_biastype[k]) == 1
        bias = tuple(float(x) for x in m.actuator_biasprm[k, :3]) if affine else (0.0, 0.0, 0.0)
        ranges = [
            tuple(float(x) for x in getattr(m, f"actuator_{what}range")[k]) if getattr(m, f"actuator_{what}limited")[k]
            else None for what in ("ctrl", "force")
        ]  # fmt: skip
        law = Actuator(
            float(m.actuator_gear[k, 0]), float(m.actuator_gainprm[k, 0]), bias,  # pyright: ignore[reportArgumentType]
            float(m.qpos0[m.jnt_qposadr[j]]), ranges[0], ranges[1], None,  # pyright: ignore[reportArgumentType]
        )  # fmt: skip
        model.motor(self.name("joint", j), law, control=0.0, name=name)
        self.remarks.append(f'actuator {name!r}: its control is 0; model.controls["{name}"] = f(t) gives another one')

    # -- what has no counterpart -----------------------------------------------------------------------------------

    def _rest(self) -> None:
        m = self.m
        for what, count in (
            ("tendon", m.ntendon), ("flex", m.nflex), ("plugin", m.nplugin), ("height field", m.nhfield),
        ):  # fmt: skip
            if count:
                self.lacks(what, str(count))
        if m.opt.density or m.opt.viscosity or np.any(m.opt.wind):
            self.lacks("fluid", "density, viscosity or wind")
        if m.nsensor:
            self.remarks.append(f"{m.nsensor} sensors: run.joint(...), run.body(...) tell what they would")
