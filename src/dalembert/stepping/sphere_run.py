"""Moreau-Jean for many spheres: contacts from a grid of cells, impulses by sweeps that form no matrix.

The equations of a step are those of `MoreauJean`, with constant masses and gravity (th is theta)::

    v1 = v0 + h gravity + M^-1 G^T P,        q1 = q0 + h ((1 - th) v0 + th v1)
    P = proj(P - r (U+ + rho U-))   where   gap(q0) + gamma h U_N(q0, v0) <= 0

with normals at (1 - th) q0 + th q1, which turn with the iterates. The impulses of the step before are the first guess,
each for the contact of the same two bodies. Sweeps go on until the residual is below the tolerance of the system.
Where they do not reach it, Newton's method of Alart and Curnier is tried, on the sparse matrix of all contacts; a
residual of a hundred times the tolerance is a failed step. Impulses of redundant contacts are not unique, the
velocities that they lead to are nearly so.
"""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from .. import nonlinear
from ..arguments import count, floats
from ..engine import NOT_CONVERGED, OK, Interruption
from ..errors import ContactWarning, InconsistentStart, InputError
from ..method import Frictionless, MoreauJean
from ..method.contact_laws import ROUNDOFF
from ..multibody.spheres import BALL, Spheres
from .contact_start import SMALL_PENETRATION
from .options import Given, Options, check_room, checked_save_every
from .run import Run, ended, interrupted_after
from .step import Layout
from .step_sizes import EqualSteps

#: A residual that is so many times the tolerance is a failure; below that it is accepted, and reported.
ACCEPTED = 100
#: The most sweeps in one step.
MOST_SWEEPS = 20_000
#: Where they do not suffice: steps of Newton's method, and sweeps after them.
NEWTON_STEPS, FEW_SWEEPS = 30, 1000


class Touching(NamedTuple):
    """The contacts of one step."""

    pairs: np.ndarray  # (contacts, 2): bodies; a first body -1, -2, ... is a plane
    normal: np.ndarray  # (contacts, 3): from the first to the second body
    impulse: np.ndarray  # (contacts, 3): on the second


class Solved(NamedTuple):
    """Velocities, (N, 6), at the end of a step, its contacts, and how well they satisfy the law."""

    velocity: np.ndarray
    touching: Touching
    residual: float
    sweeps: int


NONE = Touching(np.zeros((0, 2), np.int64), np.zeros((0, 3)), np.zeros((0, 3)))


class SphereSteps:
    """Steps of one system of spheres."""

    def __init__(self, system: Spheres, method: MoreauJean, h: float) -> None:
        from ..nonlinear import sphere_contacts, sphere_solver  # here, as numba takes long to import

        self._kernels, self._solver, self._method, self.h = sphere_contacts, sphere_solver, method, h
        radius = np.array(system.radius, dtype=np.float64)
        self.mass = np.broadcast_to(np.asarray(system.mass, dtype=np.float64), radius.shape).copy()
        planes = np.asarray(system.planes, dtype=np.float64).reshape(-1, 4)
        inertia = BALL * self.mass * radius**2
        self.bodies = sphere_contacts.Bodies(
            radius, 1 / self.mass, 1 / inertia, np.ascontiguousarray(planes[:, :3]), planes[:, 3].copy()
        )
        self.inertia, self._gravity = inertia, np.asarray(system.gravity, dtype=np.float64)
        self.tolerance, self._rho = system.tolerance, float(system.restitution)
        self._mu = 0.0 if isinstance(method.law, Frictionless) else float(system.friction)

    def near(self, centres: np.ndarray, reach: float) -> np.ndarray:
        """Pairs of bodies that are at most `reach` apart, planes first."""
        kernels, bodies = self._kernels, self.bodies
        walls = kernels.near_planes(centres, bodies.radius, bodies.normals, bodies.offsets, reach)
        return np.concatenate([walls, kernels.candidates(centres, bodies.radius, reach)])

    def deepest(self, centres: np.ndarray) -> float:
        """The most negative gap, or zero."""
        _, gap = self._kernels.geometry(self.near(centres, 0.0), centres, self.bodies)
        return float(np.min(gap, initial=0.0))

    def closed(self, centres: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """The pairs that are forecast to touch."""
        fast, tiny = float(np.max(np.abs(velocity[:, :3]), initial=0.0)), float(np.max(np.abs(centres), initial=0.0))
        level = ROUNDOFF * (tiny + self.h * fast)
        gamma = self._method.gamma * self.h
        speed = float(np.sqrt(np.max(np.sum(velocity[:, :3] ** 2, axis=1), initial=0.0)))
        pairs = self.near(centres, 2 * gamma * speed + level)
        normal, gap = self._kernels.geometry(pairs, centres, self.bodies)
        return pairs[gap + gamma * self._approach(pairs, normal, velocity) <= level]

    def step(self, centres: np.ndarray, velocity: np.ndarray, before: Touching) -> Solved:
        """The end of a step from (N, 3) and (N, 6)."""
        free = velocity.copy()
        free[:, :3] += self.h * self._gravity
        pairs = self.closed(centres, velocity)
        if not len(pairs):
            return Solved(free, NONE, 0.0, 0)
        impulse, law = self._carried(pairs, before), (self._rho, self._mu)
        given = self.bodies, (self.h, self._method.theta), self.tolerance
        (normal, extra), end, residual, done = self._solver.improve(
            pairs, centres, velocity, free, impulse, law, *given, MOST_SWEEPS
        )
        if residual > self.tolerance:
            other = self._by_newton(pairs, normal, extra, impulse, free)
            found = self._solver.improve(pairs, centres, velocity, free, other, law, *given, FEW_SWEEPS)
            if found[2] < residual:
                impulse, ((normal, _), end, residual, _) = other, found
        return Solved(end, Touching(pairs, normal, impulse), residual, done)

    def _carried(self, pairs: np.ndarray, before: Touching) -> np.ndarray:
        """The impulses of the step before, for the same pairs of bodies."""
        size, planes = len(self.bodies.radius), len(self.bodies.offsets)
        keys, old = ((part[:, 0] + planes) * size + part[:, 1] for part in (pairs, before.pairs))
        found = np.zeros((len(pairs), 3))
        if len(old):
            order = np.argsort(old, kind="stable")
            place = np.minimum(np.searchsorted(old[order], keys), len(old) - 1)
            same = old[order][place] == keys
            found[same] = before.impulse[order][place][same]
        return found

    def problem(self, pairs: np.ndarray, normal: np.ndarray, extra: np.ndarray, free: np.ndarray):
        """W by blocks and b in axes (n, t_1, t_2) of each contact, as `solve_friction` takes them, and these axes."""
        starts, columns, blocks = self._kernels.joined_blocks(pairs, normal, self.bodies, len(free))
        axes = _axes(normal)
        rows = np.repeat(np.arange(len(pairs)), np.diff(starts))
        blocks = axes[rows] @ blocks @ np.swapaxes(axes[columns], 1, 2)
        b = np.einsum("cij,cj->ci", axes, self._kernels.relative(pairs, normal, free, self.bodies))
        b[:, 0] += extra
        return nonlinear.BlockMatrix(starts, columns, blocks), b, axes

    def _by_newton(self, pairs, normal, extra, impulse, free) -> np.ndarray:
        """Impulses that Newton's method makes of those given; a copy of the latter where it does not help."""
        W, b, axes = self.problem(pairs, normal, extra, free)
        friction = np.full(len(pairs), self._mu)
        start = np.einsum("cij,cj->ci", axes, impulse).ravel()
        before = nonlinear.friction_residual(W, b.ravel(), friction, 3, start)
        found = nonlinear.solve_friction(W, b.ravel(), friction, 3, start, self.tolerance, "newton", NEWTON_STEPS)
        if not found.residual < before:
            return impulse.copy()
        return np.einsum("cij,ci->cj", axes, found.r.reshape(-1, 3))

    def _approach(self, pairs: np.ndarray, normal: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """n . U of every contact."""
        return np.sum(normal * self._kernels.relative(pairs, normal, velocity, self.bodies), axis=1)


def _axes(normal: np.ndarray) -> np.ndarray:
    """Orthonormal axes (n, t_1, t_2) as rows, (contacts, 3, 3)."""
    other = np.where(np.abs(normal[:, 2:]) > 0.9, np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]))
    first = np.cross(normal, other)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return np.stack([normal, first, np.cross(normal, first)], axis=1)


class _Record:
    """What a run of spheres keeps: states, and the contacts of the step before each of them."""

    def __init__(self, save_every: int, tolerance: float) -> None:
        self.save_every, self._tolerance = save_every, tolerance
        self.states: list[np.ndarray] = []
        self.iterations: list[int] = []
        self.touching: list[Touching] = []
        self.most_contacts = self.contacts = self.sweeps = self._pending = 0
        self.worst, self.above = 0.0, 0

    def add(self, k: int, state: np.ndarray, solved: Solved) -> None:
        """The state after k steps."""
        self.sweeps += solved.sweeps
        self._pending += solved.sweeps
        self.worst = max(self.worst, solved.residual)
        self.above += solved.residual > self._tolerance
        self.contacts += len(solved.touching.pairs)
        self.most_contacts = max(self.most_contacts, len(solved.touching.pairs))
        if k % self.save_every == 0:
            self.states.append(state)
            self.touching.append(solved.touching)
            if k:
                self.iterations.append(self._pending)
                self._pending = 0

    def warn(self, steps: int) -> None:
        """Say that steps ended above the tolerance, if some did."""
        if self.above:
            warnings.warn(
                f"the laws of contact hold to {self.worst:.1e} only in the worst of {steps} steps, in {self.above} of "
                f"them not to the tolerance {self._tolerance:g} of da.Spheres: more contacts may hold the heap than it "
                "needs. A smaller h or a larger tolerance= is what can be done.",
                ContactWarning,
                stacklevel=2,
            )

    def arrays(self) -> dict[str, np.ndarray]:
        """The contacts of all saved states, one after the other; those of state k begin at `contact_starts[k]`."""
        counts = [len(one.pairs) for one in self.touching]
        return {
            "contact_starts": np.concatenate([[0], np.cumsum(counts)]),
            **{
                f"contact_{name}": np.concatenate([getattr(one, name) for one in self.touching])
                for name in Touching._fields
            },
        }


def run_spheres(system: Spheres, method: MoreauJean, given: Given, options: Options, grid: EqualSteps) -> Run:
    """Take steps of one size."""
    t0, h, steps = grid
    save_every, spheres = checked_save_every(options.save_every, steps), system.count
    _check(method, options)
    check_room(steps // save_every + 1, 18 * spheres)
    begun = time.perf_counter()
    work = SphereSteps(system, method, h)
    centres, turns, velocity = _start(system, work, given, project=options.project)
    weights = np.column_stack([np.repeat(work.mass[:, None], 3, axis=1), np.repeat(work.inertia[:, None], 3, axis=1)])

    def state() -> np.ndarray:
        q = np.concatenate([centres.ravel(), turns.ravel()])
        p, v = ((part[:, :3].ravel(), part[:, 3:].ravel()) for part in (weights * velocity, velocity))
        return np.concatenate([q, *p, *v])

    record, solved, k, code = _Record(save_every, work.tolerance), Solved(velocity, NONE, 0.0, 0), 0, OK
    record.add(0, state(), solved)
    with Interruption() as interruption, options.bar(steps) as report:
        try:
            while k < steps and not interruption.wanted:
                solved = interruption.call(work.step, centres, velocity, solved.touching)
                if not solved.residual <= ACCEPTED * work.tolerance:
                    code = NOT_CONVERGED
                    break
                mean = (1 - method.theta) * velocity + method.theta * solved.velocity
                centres, turns, velocity = centres + h * mean[:, :3], turns + h * mean[:, 3:], solved.velocity
                k += 1
                record.add(k, state(), solved)
                report(k)
        except KeyboardInterrupt:
            interruption.heard()
    record.warn(k)
    now = t0 + k * h
    status = interrupted_after(k, now) if interruption.wanted else ended(code, k, now, h, solved.residual)
    iterations = np.array(record.iterations, dtype=np.int64)
    return Run(
        system=system, method=method, layout=Layout(6 * spheres, 0), rows=None,
        t=t0 + h * save_every * np.arange(len(record.states)), states=np.array(record.states), iterations=iterations,
        worst_iterations=None, status=status, h=h, more=record.arrays(),
        stats={
            "engine": "sphere contacts", "steps": k, "compile_seconds": 0.0,
            "wall_seconds": time.perf_counter() - begun, "newton_iterations": 0, "sweeps": record.sweeps,
            "complementarity_residual": record.worst, "steps_above_tolerance": record.above,
            "most_contacts": record.most_contacts, "contacts": record.contacts,
        },
    )  # fmt: skip


def _check(method: MoreauJean, options: Options) -> None:
    if method.position_correction:
        raise InputError("da.Spheres corrects no positions: use da.MoreauJean() without position_correction.")
    for name, wrong in (
        ("engine", options.engine != "auto"), ("precision", options.extended), ("checkpoint", options.checkpoint),
        ("retry", options.retry), ("events", options.events), ("redundant", options.redundant != "refuse"),
    ):  # fmt: skip
        if wrong:
            raise InputError(f"{name} has no meaning for a run of da.Spheres, whose steps are computed in one way: "
                             "leave it out.")  # fmt: skip


def _start(system: Spheres, work: SphereSteps, given: Given, *, project: bool):
    """Centres, turns, and velocities (N, 6), checked."""
    spheres, values = system.count, {}
    if (given.v0 is None) == (given.p0 is None):
        raise InputError("give exactly one of v0 (velocity) and p0 (momentum).")
    for name, value in (("q0", given.q0), ("v0", given.v0), ("p0", given.p0)):
        if value is None:
            continue
        values[name] = floats(name, value, finite=True)
        if values[name].shape != (6 * spheres,):
            raise InputError(
                f"{name} of {spheres} spheres must have the shape ({6 * spheres},), centres and then turns, got "
                f"{values[name].shape}."
            )
    centres, turns = np.array(values["q0"]).reshape(2, spheres, 3)
    moving = (values["v0"] if "v0" in values else values["p0"]).reshape(2, spheres, 3)
    velocity = np.concatenate([moving[0], moving[1]], axis=1)
    if "p0" in values:
        velocity[:, :3] /= work.mass[:, None]
        velocity[:, 3:] /= work.inertia[:, None]
    deepest, size = work.deepest(centres), float(np.max(work.bodies.radius))
    if deepest < -SMALL_PENETRATION * size:
        raise InconsistentStart(
            f"spheres penetrate each other or a plane by {-deepest:.3g} at the start: move them apart"
            f"{', which project=True does not do for spheres' if project else ''}."
        )
    return np.ascontiguousarray(centres), np.ascontiguousarray(turns), velocity


def touching(self: Any, k: int = -1) -> Touching:
    """The contacts of the step before the k-th saved state, of a run of `da.Spheres`: `pairs` of bodies (a first body
    -1 is the first plane), `normal`s from the first to the second, and the `impulse`s on the second."""
    arrays = self._arrays
    if "contact_starts" not in arrays:
        raise InputError("touching is for runs of da.Spheres; run.impulse has the impulses of others.")
    index = range(len(self.t))[count("number of a saved state", k, -len(self.t), len(self.t) - 1)]
    begin, end = np.asarray(arrays["contact_starts"])[index : index + 2]
    return Touching(*(np.asarray(arrays[f"contact_{name}"])[begin:end] for name in Touching._fields))
