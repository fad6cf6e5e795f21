"""What the constraints of a model leave free, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from ..multibody import GROUND, Multibody
from .assembly import RANK, Assembler

#: How far a pose is moved along its freedoms to see whether others have the same rank, and how often.
PROBE, PROBES = 0.05, 3


@dataclass(frozen=True)
class Report:
    """Degrees of freedom and constraints of a model in one pose.

    Attributes:
        bodies: the number of bodies that move on their own.
        constraints: the number of rows of all joints and couplings.
        freedoms: the degrees of freedom in this pose: 6 for each body, less the rank of the rows.
        redundant: rows that depend on others, each with the rows on which it depends.
        singular: whether poses nearby have fewer degrees of freedom.
        floating: groups of bodies that no joint connects with the ground.
    """

    bodies: int
    constraints: int
    freedoms: int
    redundant: dict[str, tuple[str, ...]]
    singular: bool
    floating: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        lines = [f"{self.bodies} bodies, {self.constraints} constraints of joints, {self.freedoms} degrees of freedom"]
        lines += [f"redundant: {row} follows from {', '.join(others)}" for row, others in self.redundant.items()]
        if self.singular:
            lines.append("singular: poses nearby have fewer degrees of freedom")
        lines += [f"floating: {', '.join(group)}" for group in self.floating]
        return "\n".join(lines)


def check_model(self: Multibody, t: float = 0.0) -> Report:
    """What the constraints leave free, in the nearest consistent pose to the drawing: degrees of freedom, redundant
    rows by name, whether the pose is singular, which parts float."""
    assembler = Assembler(self, t)
    assembler.go_to([], np.zeros(0))
    G = assembler.evaluate()[1]
    inner = 6 * len(assembler.system.bodies)
    rank = np.linalg.matrix_rank(_scaled(G), tol=RANK)
    return Report(
        bodies=len(assembler.system.bodies),
        constraints=len(assembler.names) - inner,
        freedoms=G.shape[1] - rank,
        redundant=_redundant(G, assembler.names, inner),
        singular=_is_singular(assembler, rank),
        floating=_floating(assembler),
    )


def _scaled(G: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(G, axis=1, keepdims=True)
    return G / np.where(lengths > 0.0, lengths, 1.0)


def _redundant(G: np.ndarray, names: tuple[str, ...], inner: int) -> dict[str, tuple[str, ...]]:
    """The dependent rows of joints, each with those that it depends on; what keeps the bodies rigid is understood."""
    rows = _scaled(G)
    rigid, rows = rows[:inner], rows[inner:]
    basis = scipy.linalg.orth(rigid.T)
    rows = rows - (rows @ basis) @ basis.T
    if not len(rows):
        return {}
    _, triangle, order = scipy.linalg.qr(rows.T, mode="economic", pivoting=True)  # pyright: ignore
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.sum(diagonal > RANK * max(1.0, diagonal[0])))
    kept, labels = sorted(order[:rank].tolist()), names[inner:]
    found = {}
    for row in sorted(order[rank:].tolist()):
        weights = np.linalg.lstsq(rows[kept].T, rows[row], rcond=None)[0]
        found[labels[row]] = tuple(labels[kept[k]] for k in np.flatnonzero(np.abs(weights) > 1e-6))
    return found


def _is_singular(assembler: Assembler, rank: int) -> bool:
    """Whether a pose nearby, reached along the freedoms, has a larger rank."""
    q, values, random = assembler.q, assembler.values, np.random.default_rng(0)
    G = assembler.evaluate()[1]
    null = scipy.linalg.null_space(_scaled(G) * assembler.half, rcond=RANK)
    singular = False
    for _ in range(PROBES if null.shape[1] else 0):
        step = assembler.half * (null @ random.standard_normal(null.shape[1]))
        assembler.q = q + PROBE * assembler.size * step / np.max(np.abs(step))
        if assembler.close([], np.zeros(0)):
            singular |= bool(np.linalg.matrix_rank(_scaled(assembler.evaluate()[1]), tol=RANK) > rank)
        assembler.q, assembler.values = q, values
    return singular


def _floating(assembler: Assembler) -> tuple[tuple[str, ...], ...]:
    """Groups of bodies without a joint to the ground."""
    system = assembler.system
    group = {k: k for k in range(GROUND, len(system.bodies))}
    for joint in system.joints:
        old, new = group[joint.second], group[joint.first]
        if joint.kind.places != "free":
            group = {k: (new if g == old else g) for k, g in group.items()}
    groups: dict[int, list[str]] = {}
    for k, body in enumerate(system.bodies):
        if group[k] != group[GROUND]:
            groups.setdefault(group[k], []).append(body.name)
    return tuple(tuple(names) for names in groups.values())
