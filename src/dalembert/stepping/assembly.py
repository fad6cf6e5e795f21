"""Consistent poses and velocities of a model, in all coordinates at once; and what its constraints leave free.

The poses are found in the directors of all bodies. With g the constraints and c - c* the deviation of the joints from
what is wanted, A their derivative and W the inverse masses, a step of Newton's method is the smallest in the metric of
the kinetic energy::

    dq = -W A^T (A W A^T)^+ (g, c - c*)

The wanted values are approached from the drawing in parts that turn no joint by more than a fifth of a radian, so that
the mechanism stays on its branch.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..arguments import floats, number, shown
from ..engine import Function
from ..errors import InputError, ModelError
from ..multibody import BodyElement, Multibody, MultibodySystem, pose_system, row_names, system_of
from .shared_equations import Family, flat_parameters, for_family

#: A constraint below this, relative to the size of the model, holds.
TOLERANCE = 1e-12
#: How far a joint is turned in one part of the way, and the smallest part that is tried.
PART, SMALLEST_PART = 0.2, 1e-3
#: Singular values below this, relative to the largest, are zero.
RANK = 1e-9
#: Velocities are refined so many times.
REFINED = 3


@dataclass(frozen=True)
class Assembly:
    """A consistent pose with velocities: `q0` and `v0` belong to the model's system in these coordinates.

    `joints` and `rates` hold the coordinates of all joints and their rates, by joint; `moved` is the distance that the
    centre of mass of a body was moved at most, from the drawing.
    """

    coordinates: str
    q0: np.ndarray
    v0: np.ndarray
    joints: dict[str, tuple[float, ...]]
    rates: dict[str, tuple[float, ...]]
    moved: float

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={_short(value)}" for name, value in self.joints.items())
        return f"Assembly({values}; moved by at most {self.moved:.3g})"


def _short(values: tuple[float, ...]) -> str:
    text = ", ".join(f"{value:.6g}" for value in values)
    return text if len(values) == 1 else f"({text})"


@for_family()
def _poses(family: Family) -> Function:
    """Constraints, then joint coordinates, with their sparse derivative by q."""

    def flat(q, t, parameters):
        system = family.at(parameters)
        return jnp.concatenate([_stacked(_rows(system, t, q)), _stacked(_values(system, q))])

    return Function(flat)


@for_family()
def _rates(family: Family) -> Function:
    """Constraints with their derivative by t."""
    return Function(lambda t, q, parameters: _stacked(_rows(family.at(parameters), t[0], q)))


@for_family()
def _slips(family: Family) -> Function:
    """Constraints on velocities with their derivative by v."""

    def flat(v, t, q, parameters):
        system: Any = family.at(parameters)
        return _stacked([row for _, row in system.velocity_rows(t, q, v)])

    return Function(flat)


def _rows(system, t, q) -> list:
    return [row for _, row in system.constraint_rows(t, q)]


def _values(system, q) -> list:
    configuration = system.configuration(q)
    return [x for number, joint in enumerate(system.joints) for x in configuration.joint_values(number, joint)]


def _stacked(parts: list):
    return jnp.stack([jnp.asarray(part, jnp.float64) for part in parts]) if parts else jnp.zeros(0)


class Assembler:
    """The bodies of a model with all their directors, and the way to consistent poses."""

    def __init__(self, model: Multibody, t: float = 0.0) -> None:
        self.model, self.parts, self.t = model, model.parts(limits=False), float(t)
        if self.parts.traced:
            raise InputError("a model with traced places cannot be assembled; assemble it outside jit, vmap and grad.")
        whole = tuple(_with_all_directors(body) for body in self.parts.bodies)
        parts = dataclasses.replace(self.parts, bodies=whole)
        self.system = pose_system(parts)
        self.names = row_names(self.system)
        self._function, self._parameters = _poses(Family(self.system)), np.asarray(flat_parameters(self.system))
        self.q = np.concatenate([np.ravel(part) for part in model.drawn_directors()])
        self.drawn = self.q.copy()
        weights = [[body.mass] * 3 + [e for e in body.euler for _ in range(3)] for body in whole]
        self.half = 1 / np.sqrt(np.concatenate([np.array(w, dtype=float) for w in weights]))
        self.columns, self.angular = [], []
        for joint in self.system.joints:
            for k, name in enumerate(joint.kind.coordinates):
                self.columns.append((joint.name, k))
                self.angular.append("angle" in name)
        self.values = self.evaluate()[2]
        self.size = max(1.0, float(np.max(np.abs(self.q))))

    def evaluate(self, q: np.ndarray | None = None):
        """Constraints, their derivative, joint coordinates, and theirs."""
        q, rows = self.q if q is None else q, len(self.names)
        found, derivative = self._function(q, self.t, self._parameters)
        dense = derivative.toarray()
        return found[:rows], dense[:rows], found[rows:], dense[rows:]

    def row_rates(self) -> np.ndarray:
        """The rate of the constraints with time, at rest."""
        if not self.system.couplings:
            return np.zeros(len(self.names))
        return _rates(Family(self.system))(np.array([self.t]), self.q, self._parameters)[1].toarray()[:, 0]

    def rolling(self) -> tuple[np.ndarray, np.ndarray]:
        """K and k of the constraints on velocities, K v + k = 0, at the present poses."""
        if not any(coupling.nonholonomic for coupling in self.system.couplings):
            return np.zeros((0, len(self.q))), np.zeros(0)
        found, derivative = _slips(Family(self.system))(np.zeros(len(self.q)), self.t, self.q, self._parameters)
        return derivative.toarray(), found

    def wanted(self, values: dict[str, Any], what: str) -> tuple[list[int], np.ndarray]:
        """The columns of the joint coordinates that are wanted, and their values."""
        columns, numbers = [], []
        for name, value in values.items():
            record = self.model._joint(name)
            count = len(record.kind.coordinates)
            if name not in {joint for joint, _ in self.columns}:
                raise InputError(f"joint {name!r} has no coordinate of which a {what} could be wanted.")
            given = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
            if len(given) != count:
                raise InputError(
                    f"joint {name!r} has {count} coordinates, {', '.join(record.kind.coordinates)}; got {shown(value)}."
                )
            first = self.columns.index((name, 0))
            for k, entry in enumerate(given):
                if entry is not None:
                    columns.append(first + k)
                    numbers.append(number(f"{what} of joint {name!r}", entry))
        return columns, np.array(numbers)

    def close(self, columns: list[int], targets: np.ndarray) -> bool:
        """Newton's method from the present poses; they stay where they are if it fails."""
        q, values, close = self.q.copy(), self.values, False
        for _ in range(40):
            g, G, c, C = self.evaluate(q)
            residual = np.concatenate([g, self._deviation(c[columns] - targets, columns)])
            if not np.all(np.isfinite(residual)):
                return False
            size = np.max(np.abs(residual), initial=0.0)
            if size <= TOLERANCE * self.size and (close or size == 0.0):
                self.q, self.values = q, self._followed(values, c)
                return True
            close = size <= TOLERANCE * self.size  # one step more takes it to roundoff
            A = np.concatenate([G, C[columns]])
            step = -self.half * np.linalg.lstsq(A * self.half, residual, rcond=RANK)[0]
            # directors are no longer than 1: a longer step has left what the linear equations know
            q = q + step * min(1.0, 0.5 * self.size / max(np.max(np.abs(step)), 1e-300))
        return False

    def _deviation(self, difference: np.ndarray, columns: list[int]) -> np.ndarray:
        turns = np.array([self.angular[k] for k in columns], dtype=bool)
        return np.where(turns, (difference + np.pi) % (2 * np.pi) - np.pi, difference)

    def _followed(self, before: np.ndarray, now: np.ndarray) -> np.ndarray:
        """Angles nearest to those before, so that turns are counted."""
        everything = list(range(len(self.columns)))
        return before + self._deviation(now - before, everything)

    def go_to(self, columns: list[int], targets: np.ndarray) -> None:
        """Bring the joints to the wanted values, in parts."""
        if not self.close([], np.zeros(0)):
            raise ModelError(f"{self.model.name} cannot be assembled as it is drawn: {self._conflict([], np.zeros(0))}")
        begin = self.values[columns]
        reach = np.max(np.abs(targets - begin), initial=0.0)
        done, part = 0.0, min(1.0, PART / max(reach, PART))
        while done < 1.0:
            ahead = min(1.0, done + part)
            if self.close(columns, begin + ahead * (targets - begin)):
                done, part = ahead, min(2 * part, PART / max(reach, PART))
                continue
            part /= 2
            if part < SMALLEST_PART:
                reached = begin + done * (targets - begin)
                wanted = ", ".join(
                    f"{self._label(k)} to {target:.6g} (reached {value:.6g})"
                    for k, target, value in zip(columns, targets, reached, strict=True)
                )
                raise ModelError(
                    f"{self.model.name} cannot be brought with {wanted}: "
                    f"{self._conflict(columns, begin + ahead * (targets - begin))}"
                )

    def _label(self, column: int) -> str:
        name, k = self.columns[column]
        return f"joint {name!r}" if not k else f"coordinate {k + 1} of joint {name!r}"

    def _conflict(self, columns: list[int], targets: np.ndarray) -> str:
        """Which rows cannot all hold: those with a weight in the residual that no motion reduces."""
        g, G, c, C = self.evaluate()
        residual = np.concatenate([g, self._deviation(c[columns] - targets, columns)])
        A = np.concatenate([G, C[columns]])
        left = residual - A @ np.linalg.lstsq(A, residual, rcond=1e-3)[0]
        against = self._against(left, [f"{self._label(k)} as wanted" for k in columns])
        if not against:
            # the rows whose combination no motion changes, or hardly: the joints are stretched out or folded flat there
            lengths = np.linalg.norm(A * self.half, axis=1, keepdims=True)
            weights = np.abs(np.linalg.svd(A * self.half / lengths)[0][:, -1][: len(self.names)])
            rigid = 6 * len(self.system.bodies)
            rows = [name for name, w in zip(self.names[rigid:], weights[rigid:], strict=True) if w > 0.05]
            joints = list(dict.fromkeys(name.rpartition(": ")[0] for name in rows))
            return (
                f"the pose is nearly singular, and {', '.join(joints) or 'the drawing'} resist"
                f"{'s' if len(joints) <= 1 else ''}: joints are stretched out or folded flat there, or the wanted "
                "values lie beyond what they allow."
            )
        return f"no motion reduces what is left of {', '.join(against[:8])}" + (
            f" and {len(against) - 8} more." if len(against) > 8 else "."
        )

    def _against(self, left: np.ndarray, wanted: list[str]) -> list[str]:
        """The wishes, and then the joints' rows, that have a large part in what is left; that bodies are rigid is
        understood."""
        size = np.max(np.abs(left), initial=0.0)
        if size <= 1e-9:
            return []
        rigid, count = 6 * len(self.system.bodies), len(self.names)
        labels = [*wanted, *self.names[rigid:]]
        parts = [*left[count:], *left[rigid:count]]
        return list(dict.fromkeys(label for label, x in zip(labels, parts, strict=True) if abs(x) > 0.05 * size))

    def body_rates(self, spin: dict[str, Any], velocity: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Equations A v = b for the wanted angular velocities of bodies and velocities of their origins: w x d_k are
        the rates of the directors, and x' + sum_k X_k d_k' that of a point."""
        n = len(self.q)
        rows, right, labels = [np.zeros((0, n))], [np.zeros(0)], []
        for given, what in ((spin, "spin"), (velocity, "velocity")):
            for name, value in given.items():
                frame = next((frame for frame in self.system.frames if frame.name == name and frame.body >= 0), None)
                if frame is None:
                    raise InputError(f"{what}: there is no moving body {shown(name)}.")
                wanted = floats(f"{what} of body {name!r}", value, finite=True)
                if wanted.shape != (3,):
                    raise InputError(f"{what} of body {name!r} must hold three numbers, got {shown(value)}.")
                first = 12 * frame.body
                weights = np.array([1.0, *frame.frame.position.array()])
                if what == "spin":
                    rows.append(np.eye(n)[first + 3 : first + 12])
                    right.append(np.ravel(np.cross(wanted, self.q[first + 3 : first + 12].reshape(3, 3))))
                else:
                    row = np.zeros((3, n))
                    row[:, first : first + 12] = np.kron(weights, np.eye(3))
                    rows.append(row)
                    right.append(wanted)
                labels += [f"the {what} of body {name!r}"] * len(right[-1])
        return np.concatenate(rows), np.concatenate(right), labels

    def velocity(self, columns: list[int], rates: np.ndarray, bodies) -> np.ndarray:
        """The velocity of least kinetic energy with the wanted rates of joints and bodies."""
        (_, G, _, C), rate, (K, k) = self.evaluate(), self.row_rates(), self.rolling()
        A, b = np.concatenate([G, C[columns], bodies[0], K]), np.concatenate([-rate, rates, bodies[1], -k])
        v = np.zeros(A.shape[1])
        for _ in range(REFINED):  # inertias of very different size cost digits
            v = v + self.half * np.linalg.lstsq(A * self.half, b - A @ v, rcond=RANK)[0]
        left = A @ v - b
        if np.max(np.abs(left), initial=0.0) > 1e-9 * max(1.0, np.max(np.abs(b), initial=0.0)):
            wanted = [*(f"the rate of {self._label(k)}" for k in columns), *bodies[2]]
            against = self._against(left, [*wanted, *row_names(self.system, "nonholonomic")])
            raise ModelError(
                f"{self.model.name} cannot move with the wanted rates: {', '.join(against[:8])} contradict each other."
            )
        return v

    def coordinates_of(self, system: MultibodySystem, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of a system of the same model."""
        rates = self.evaluate()[3] @ v
        first = {name: k for k, (name, number) in enumerate(self.columns) if number == 0}
        q0, v0 = np.zeros(system.size), np.zeros(system.size)
        for placement in system.plan:
            here = slice(placement.start, placement.start + placement.size)
            if placement.how == "coordinates":
                assert placement.joint is not None
                at = first[system.joints[placement.joint].name] if placement.size else 0
                q0[here], v0[here] = self.values[at : at + placement.size], rates[at : at + placement.size]
                continue
            entries = [12 * placement.body + k for k in range(3)] if placement.how == "free" else []
            kept = system.bodies[placement.body].kept
            entries += [12 * placement.body + 3 + 3 * i + k for i in kept for k in range(3)]
            q0[here], v0[here] = self.q[entries], v[entries]
        for (joint, k), place in system.followed_coordinates.items():
            at = first[system.joints[joint].name] + k
            q0[place], v0[place] = self.values[at], rates[at]
        return q0, v0


def assemble_model(
    self: Multibody, joints: dict | None = None, *, rates: dict | None = None, spin: dict | None = None,
    velocity: dict | None = None, coordinates: str = "auto", t: float = 0.0, **values,
) -> Assembly:  # fmt: skip
    """The nearest consistent pose with the wanted joint coordinates, and velocities with the wanted rates.

    `model.assemble(shoulder=0.4, rates={"shoulder": 1.0})`. The pose is reached from the drawing step by step, so that
    the mechanism stays on its branch; `start.q0` and `start.v0` are for `model.system(coordinates)`. Raises a
    `ModelError` that names the joints which resist.

    Args:
        joints: coordinates of joints by name, numbers, or one for each coordinate; the same as keywords.
        rates: their rates.
        spin: angular velocities of bodies in space, by name.
        velocity: velocities of the origins of bodies in space, by name.
        coordinates: those of the system that q0 and v0 are for.
        t: the time, for prescribed motions.
        values: coordinates of joints whose names are words.
    """
    assembler = Assembler(self, number("t", t))
    assembler.go_to(*assembler.wanted((joints or {}) | values, "value"))
    bodies = assembler.body_rates(spin or {}, velocity or {})
    v = assembler.velocity(*assembler.wanted(rates or {}, "rate"), bodies)
    system = system_of(assembler.parts, coordinates, self.name)
    q0, v0 = assembler.coordinates_of(system, v)
    joint_rates = assembler.evaluate()[3] @ v
    by_joint: dict[str, list[int]] = {}
    for k, (name, _) in enumerate(assembler.columns):
        by_joint.setdefault(name, []).append(k)
    places, drawn = (x.reshape(-1, 12)[:, :3] for x in (assembler.q, assembler.drawn))
    return Assembly(
        system.coordinates,
        q0,
        v0,
        {name: tuple(float(assembler.values[k]) for k in found) for name, found in by_joint.items()},
        {name: tuple(float(joint_rates[k]) for k in found) for name, found in by_joint.items()},
        float(np.max(np.linalg.norm(places - drawn, axis=1))),
    )


def _with_all_directors(body: BodyElement) -> BodyElement:
    """The body with mass along every axis: poses need directions where inertia may have none."""
    mass = float(body.mass) or 1.0
    given = dict(zip(body.kept, (float(e) for e in body.euler), strict=True))
    least = max([1e-3 * max(given.values(), default=0.0), 1e-6 * mass])
    return BodyElement(body.name, (0, 1, 2), mass, tuple(max(given.get(k, 0.0), least) for k in range(3)))
