"""What contacts and constraints exert, as arrows at places: for scenes in which forces are seen.

A generalised force f does the work f . dq. Forces F_k at the points x_k(t, q) of the picture do the same work if

    sum_k x_k,q^T F_k = f.

Where exactly one point can take f alone, it does: the corner that touches, the point that rolls. Otherwise the smallest
forces of all points that do this work are taken, F = x_q (x_q^T x_q)^+ f: where points are coordinates, these are the
forces on them. A torque on what is not drawn has no such forces; what points can show of it is drawn.

A contact exerts the mean force sum P / sum h of its impulses P since the state before, constraints exert minus
g_q^T lam + k_v^T psi - N. Models of bodies know the places themselves: the touching points and the joints.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import DalembertError
from ..formulation import mechanics_of
from ..multibody import GROUND, MultibodySystem, Spheres
from ..multibody.contacts import tangents
from ..problem import prepared
from ..trajectory import Trajectory
from ..trajectory.mechanism import Mechanism

#: What an arrow stands for: the force of a contact, that of constraints, and the force from one sphere to another.
CONTACT, REACTION, CHAIN = 0, 1, 2
#: Forces below this part of the largest one are not drawn.
SMALLEST = 1e-4
#: A point takes a force alone if what is left of it is no larger than this part.
TAKEN = 1e-5
#: States at which it is tried, those with the largest forces.
TRIED = 4
#: Numbers of all arrows (7 each) that are kept; then the strongest of each state.
MOST_NUMBERS = 1_400_000
#: Derivatives of all points by all coordinates at all states.
MOST_SLOPES = 30_000_000
#: An impulse is seen for this part of the run, fading.
AFTERGLOW = 1 / 60


class Arrows(NamedTuple):
    """Arrows of many states, one after the other; those of state k begin at `starts[k]`.

    Attributes:
        starts: (N + 1,).
        points: the number of the point at which each begins, -1 for the place beside, (A,).
        places: (A, 3): where an arrow begins that is at no point; of a chain, from where the force comes.
        vectors: forces, (A, 3).
        kinds: CONTACT, REACTION or CHAIN, (A,).
        remarks: what could not be drawn, and why.
    """

    starts: np.ndarray
    points: np.ndarray
    places: np.ndarray
    vectors: np.ndarray
    kinds: np.ndarray
    remarks: tuple[str, ...]


class _Forces(NamedTuple):
    """Forces of one kind in the same places at all states: points (m,), places and vectors (N, m, dimension)."""

    kind: int
    points: np.ndarray
    places: np.ndarray
    vectors: np.ndarray


class Wanted(NamedTuple):
    """Of what forces are wanted."""

    contacts: bool = True
    reactions: bool = True


EVERYTHING = Wanted()


def forces_in(system: Any) -> Wanted:
    """Of what a system has forces."""
    if system is None:
        return Wanted(False, False)
    contacts = isinstance(system, Spheres) or system.provides("gap")
    joints = isinstance(system, MultibodySystem) and len(system.joints) > 0
    return Wanted(contacts, joints or system.provides("holonomic") or system.provides("nonholonomic"))


def arrows_of(run: Trajectory, rows: np.ndarray, points: np.ndarray, wanted: Wanted = EVERYTHING) -> Arrows | None:
    """The arrows of some states of a run, whose points are there, (N, points, 2 or 3); None where there is nothing."""
    system = run.system
    wanted = Wanted(*(a and b for a, b in zip(wanted, forces_in(system), strict=True)))
    if not any(wanted):
        return None
    if isinstance(system, Spheres):
        return _strongest(_between_spheres(run, system, rows))
    remarks: list[str] = []
    if isinstance(system, MultibodySystem):
        found = _touching(run, system, rows) if wanted.contacts else []
        found += _at_joints(run, rows, remarks) if wanted.reactions else []
    else:
        found = _at_points(run, rows, points, wanted, remarks)
    return _strongest(_joined(found, len(rows), tuple(remarks)))


# -- impulses of contacts ----------------------------------------------------------------------------------------------


def mean_forces(run: Trajectory, rows: np.ndarray) -> np.ndarray:
    """The impulses since the row before by the time that they took, (N, contacts, directions)."""
    impulse, t = np.asarray(run.impulse, dtype=float), np.asarray(run.t, dtype=float)
    impulse = impulse.reshape(*impulse.shape[:2], -1)
    total = np.add.reduceat(impulse[: rows[-1] + 1], np.concatenate([[0], rows[:-1] + 1])[: len(rows)], axis=0)
    # of several steps between two states, the impulse of the last one is recorded
    recorded = (len(t) - 1) / max(len(t) - 1, int(run.stats.get("steps", 0)))
    taken = recorded * np.abs(np.diff(t[rows], prepend=t[rows[0]]))
    return total / np.where(taken > 0, taken, np.inf)[:, None, None]


def fading(t: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The strongest of each place in the moments before, fading, so that an impact of one step is seen."""
    seen = AFTERGLOW * max(abs(float(t[-1] - t[0])), 1e-300)
    held, since, shown = np.zeros(vectors.shape[1:]), np.full(vectors.shape[1], -np.inf), np.empty_like(vectors)
    sizes, size = np.linalg.norm(vectors, axis=2), np.zeros(vectors.shape[1])
    for k, now in enumerate(t):
        left = np.clip(1 - np.abs(now - since) / seen, 0.0, 1.0)
        new = sizes[k] >= size * left
        held[new], since[new], size[new] = vectors[k][new], now, sizes[k][new]
        shown[k] = np.where(new, 1.0, left)[:, None] * held
    return shown


def _touching(run: Trajectory, system: MultibodySystem, rows: np.ndarray) -> list[_Forces]:
    """The forces of contacts on their first bodies, where these are touched."""
    which = [k for k, contact in enumerate(system.contacts) if contact.bodies is not None]
    if not which:
        return []
    forces = mean_forces(run, rows)[:, which]
    t, q = np.asarray(run.t)[rows], np.asarray(run.q)[rows]
    places, axes = (np.asarray(part) for part in _touched(prepared(system), q, tuple(which)))
    vectors = np.einsum("nci,ncij->ncj", forces, axes[:, :, : forces.shape[2]])
    return [_Forces(CONTACT, np.full(len(which), -1), places, fading(t, vectors))]


@eqx.filter_jit
def _touched(system: Any, q, which: tuple[int, ...]):
    def one(q):
        configuration = system.configuration(q)
        touching = [system.contacts[k].touching(configuration) for k in which]
        axes = [jnp.stack([one.normal, *tangents(one.normal)]) for one in touching]
        return jnp.stack([one.first for one in touching]), jnp.stack(axes)

    return jax.vmap(one)(q)


def _between_spheres(run: Trajectory, system: Spheres, rows: np.ndarray) -> Arrows:
    """Forces from the first sphere, or from the place on a plane, to the second sphere."""
    arrays, h = run._arrays, float(run.provenance["h"])
    first = np.asarray(arrays["contact_starts"])
    counts = np.diff(first)[rows]
    starts = np.concatenate([[0], np.cumsum(counts)])
    each = np.repeat(first[rows] - starts[:-1], counts) + np.arange(starts[-1])
    pairs, normal, impulse = (np.asarray(arrays[f"contact_{name}"])[each] for name in ("pairs", "normal", "impulse"))
    centres = np.asarray(run.q)[np.repeat(rows, counts)].reshape(len(each), 2, system.count, 3)[:, 0]
    own = np.arange(len(each))
    ends, radius = centres[own, pairs[:, 1]], np.asarray(system.radius)[pairs[:, 1]]
    places = np.where(pairs[:, :1] < 0, ends - radius[:, None] * normal, centres[own, pairs[:, 0]])
    return Arrows(starts, pairs[:, 1], places, impulse / h, np.full(len(each), CHAIN), ())


# -- constraints -------------------------------------------------------------------------------------------------------


def _at_joints(run: Trajectory, rows: np.ndarray, remarks: list[str]) -> list[_Forces]:
    """The reactions of joints on their second bodies, or on the first where the second one is the ground."""
    names = [name for name in ("t", "q", "v", "p", "raw_lam", "raw_psi") if name in run._arrays]
    thin = Trajectory({n: np.asarray(run._arrays[n])[rows] for n in names}, run.system, run._info, run.status,
                      run.method)  # fmt: skip
    mechanism, found = Mechanism(thin), []
    for number, joint in enumerate(mechanism.system.joints):
        body, frame = (joint.first, joint.on_first) if joint.second == GROUND else (joint.second, joint.on_second)
        try:
            force = mechanism.reaction(number).force
        except DalembertError as reason:
            remarks.append(str(reason))
            continue
        pose = mechanism.poses[0][:, body]
        place = pose[:, 0] + np.einsum("k,nki->ni", frame.position.array(), pose[:, 1:])
        found.append(_Forces(REACTION, np.array([-1]), place[:, None], force[:, None]))
    return found


# -- forces at points --------------------------------------------------------------------------------------------------


def _at_points(
    run: Trajectory, rows: np.ndarray, points: np.ndarray, wanted: Wanted, remarks: list[str]
) -> list[_Forces]:
    """What contacts and constraints exert on the points of a picture."""
    system: Any = run.system
    t, q, v, p = (np.asarray(part, dtype=float)[rows] for part in (run.t, run.q, run.v, run.p))
    slopes = _slopes_of(system, t, q, points)
    if slopes is None:
        remarks.append(f"forces are not drawn: {points.shape[1]} points depend on {q.shape[1]} coordinates in a way "
                       "that changes, which takes too long.")  # fmt: skip
        return []
    found: list[_Forces] = []
    if wanted.contacts and np.size(run.impulse):
        forces = np.asarray(_contact_forces(prepared(system), *_padded(t, q, mean_forces(run, rows))))[: len(t)]
        taken = _taken(CONTACT, slopes, forces, points)
        found += [one._replace(vectors=fading(t, one.vectors)) for one in taken]
    if wanted.reactions:
        lam, psi = (np.asarray(part, dtype=float)[rows] for part in (run.lam, run.psi))
        apart = lam.size * q.shape[1] <= MOST_SLOPES // 4
        reaction = np.asarray(_reactions(prepared(system), apart, *_padded(t, q, v, p, lam, psi)))[: len(t)]
        found += _summed(_taken(REACTION, slopes, -reaction, points))
    return found


def _padded(*parts: np.ndarray) -> list[np.ndarray]:
    """Arrays of few lengths, so that another number of states compiles nothing."""
    length = 1 << (len(parts[0]) - 1).bit_length()
    return [np.pad(x, ((0, length - len(x)), *[(0, 0)] * (x.ndim - 1)), mode="edge") for x in parts]


@eqx.filter_jit
def _contact_forces(system: Any, t, q, forces):
    """What each contact exerts on the coordinates, (N, contacts, n)."""
    contact = mechanics_of(system).contact
    return jax.vmap(lambda t, q, forces: jnp.einsum("cd,cdn->cn", forces, contact.directions(t, q)))(t, q, forces)


@eqx.filter_jit
def _reactions(system: Any, apart: bool, t, q, v, p, lam, psi):
    """What is subtracted from the rate of the momentum, (N, m, n): each g_i,q lam_i where they are taken apart, and the
    rest."""
    mechanics = mechanics_of(system)

    def one(t, q, v, p, lam, psi):
        total = mechanics.reactions(t, q, v, p, lam, psi)
        if not apart or not len(lam):
            return total[None]
        parts = lam[:, None] * jax.jacrev(lambda q: mechanics.constraint(t, q))(q)
        return jnp.concatenate([parts, (total - parts.sum(axis=0))[None]])

    return jax.vmap(one)(t, q, v, p, lam, psi)


@eqx.filter_jit
def _slopes(system: Any, t, q):
    return jax.vmap(jax.jacfwd(system.points, argnums=1))(t, q)


def _slopes_of(system: Any, t: np.ndarray, q: np.ndarray, points: np.ndarray) -> np.ndarray | None:
    """x_q, (N, points, dimension, n), of one state where it is constant; None where it has too many entries."""
    if not system.provides("points"):
        return np.eye(q.shape[1]).reshape(1, *points.shape[1:], -1)
    some = np.unique(np.linspace(0, len(t) - 1, 5).astype(int))
    tried = np.asarray(_slopes(prepared(system), t[some], q[some]))
    if len(some) > 1 and np.all(tried == tried[:1]):
        return tried[:1]
    if points.size * q.shape[1] > MOST_SLOPES:
        return None
    return np.asarray(_slopes(prepared(system), *_padded(t, q)))[: len(t)]


def _taken(kind: int, slopes: np.ndarray, f: np.ndarray, points: np.ndarray) -> list[_Forces]:
    """Forces at points that do the work of f, (N, m, n)."""
    if not np.any(f):
        return []
    found, shared = [], []
    size = np.max(np.abs(f), axis=(0, 2), initial=0.0)
    for k in np.flatnonzero(size > TAKEN * size.max()):
        point = _alone(slopes, f[:, k])
        if point is None:
            shared.append(k)
            continue
        vectors = _smallest(slopes[:, point : point + 1], f[:, k])
        found.append(_Forces(kind, np.array([point]), points[:, point : point + 1], vectors))
    if shared:
        if f.shape[0] * len(shared) * points[0].size > MOST_NUMBERS:
            parts = [f[:, shared].sum(axis=1)]  # too many to be told apart
        else:
            parts = [f[:, k] for k in shared]
        every = np.arange(points.shape[1])
        found += [_Forces(kind, every, points, _smallest(slopes, part)) for part in parts]
    return found


def _summed(found: list[_Forces]) -> list[_Forces]:
    """Forces in the same places as one: both components of a pin."""
    sums: dict[bytes, _Forces] = {}
    for one in found:
        key = one.points.tobytes()
        sums[key] = one._replace(vectors=one.vectors + sums[key].vectors) if key in sums else one
    return list(sums.values())


def _smallest(slopes: np.ndarray, f: np.ndarray) -> np.ndarray:
    """F = x_q (x_q^T x_q)^+ f, (N, points, dimension)."""
    flat = slopes.reshape(len(slopes), -1, slopes.shape[-1])
    inverse = np.linalg.pinv(np.swapaxes(flat, 1, 2) @ flat, rcond=1e-10, hermitian=True)
    return np.squeeze(flat @ inverse @ f[:, :, None], axis=2).reshape(len(f), *slopes.shape[1:3])


def _alone(slopes: np.ndarray, f: np.ndarray) -> int | None:
    """The one point that can take a force alone, at the states where it is largest; None if several can, or none."""
    if slopes.shape[1] == 1:
        return 0
    size = np.linalg.norm(f, axis=1)
    rows = np.argsort(size)[-TRIED:]
    rows = rows[size[rows] > SMALLEST * size.max()]
    x, f = (slopes[rows] if len(slopes) > 1 else slopes), f[rows]
    points = []
    for k in range(slopes.shape[1]):
        left = np.einsum("npdi,npd->ni", np.broadcast_to(x[:, k : k + 1], (len(rows), 1, *x.shape[2:])),
                         _smallest(x[:, k : k + 1], f)) - f  # fmt: skip
        if np.all(np.linalg.norm(left, axis=1) <= TAKEN * size[rows]):
            points.append(k)
    return points[0] if len(points) == 1 else None


# -- joining -----------------------------------------------------------------------------------------------------------


def in_space(vectors: np.ndarray) -> np.ndarray:
    """Vectors with three components; those in a plane lie in that of x and z, so that up is z everywhere."""
    if vectors.shape[-1] == 3:
        return vectors
    return np.stack([vectors[..., 0], np.zeros(vectors.shape[:-1]), vectors[..., 1]], axis=-1)


def _joined(found: list[_Forces], states: int, remarks: tuple[str, ...]) -> Arrows:
    """All forces that are not nearly zero, by states."""
    row, points, kinds = ([np.zeros(0, int)] for _ in range(3))
    places, vectors = [np.zeros((0, 3))], [np.zeros((0, 3))]
    for kind, own, where, forces in found:
        size = np.linalg.norm(forces, axis=2)
        n, k = np.nonzero((size > SMALLEST * np.max(size, initial=0.0)) & np.isfinite(size))
        row.append(n)
        points.append(own[k])
        places.append(in_space(where[n, k]))
        vectors.append(in_space(forces[n, k]))
        kinds.append(np.full(len(n), kind))
    rows = np.concatenate(row)
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=states))])
    points, places, vectors, kinds = (np.concatenate(part)[order] for part in (points, places, vectors, kinds))
    return Arrows(starts, points, places, vectors, kinds, remarks)


def _strongest(arrows: Arrows) -> Arrows:
    """Not more of each state than can be sent for all of them."""
    states = len(arrows.starts) - 1
    most = max(1, MOST_NUMBERS // (7 * max(states, 1)))
    if np.max(np.diff(arrows.starts), initial=0) <= most:
        return arrows
    size = np.linalg.norm(arrows.vectors, axis=1)
    row = np.repeat(np.arange(states), np.diff(arrows.starts))
    order = np.lexsort((-size, row))
    kept = np.sort(order[np.arange(len(order)) - arrows.starts[row[order]] < most])
    starts = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=states))])
    remark = f"of the forces, the {most:,} strongest of each moment are drawn."
    points, places, vectors, kinds = arrows.points[kept], arrows.places[kept], arrows.vectors[kept], arrows.kinds[kept]
    return Arrows(starts, points, places, vectors, kinds, (*arrows.remarks, remark))
