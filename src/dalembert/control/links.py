"""Links between phases: contacts that close do so with an impact, in which the motion comes to rest along them.

With (q-, v-) the end of a phase, (q+, p+, v+) the start of the next, G = g_q and K = k_v of the constraints of the
next one, and Lambda, M the impulses of these::

    0 = q+ - q-
    0 = legendre(q+, v+, p+)
    0 = legendre(q+, v-, p+ + G^T Lambda + K^T M)        the momentum before the impact
    0 = g_q v+ + g_t,   0 = k(q+, v+)
    0 = g(q+) - W alpha
    0 = t+ - t- - T
    0 <= the impulses of contacts push, and stay in the cone of friction

What the phase before kept is not asked for again: the columns of W are an orthonormal basis of the directions of g
that the tangent space of its manifold takes from it. A periodic motion is a link from the last phase to the first;
then `returns` gives (q-, v-) from the end, some coordinates need not return, and times are not compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.linalg import null_space

from ..engine import Function, RowDerivatives
from ..formulation import mechanics_of
from ..problem import dependencies, undriven
from ..stepping import Family, Layout, flat_parameters, for_family
from .linearise import tangent_space
from .question import Question
from .transcription import RANK, Transcription


class Return:
    """How a periodic motion returns: two are equal where their functions read the same.

    Attributes:
        coordinates: the numbers of those that return.
        map: a function of (q, v) at the end, which gives those to which the start is equal; None for themselves.
    """

    def __init__(self, coordinates: tuple[int, ...], map: Callable | None) -> None:
        self.coordinates, self.map = coordinates, map

    def __call__(self, q, v) -> tuple[Any, Any]:
        return (q, v) if self.map is None else self.map(q, v)

    def __hash__(self) -> int:
        return hash(dependencies(self))

    def __eq__(self, other) -> bool:
        return isinstance(other, Return) and dependencies(self) == dependencies(other)


class LinkFunctions(NamedTuple):
    """The traced link."""

    local: RowDerivatives  # of (y, parameters): the rows; y = (s-, s+, Lambda, M, t-, T, t+)
    names: tuple[str, ...]


class Rows(NamedTuple):
    """How many rows a link has of each kind."""

    motion: int  # of the equations that the impact satisfies
    g: int
    time: int
    forces: int


@for_family(maxsize=32)
def link_functions(family: Family, layout: Layout, forces: Any, returns: Return | None) -> LinkFunctions:
    """The link into a phase with the system of the family."""
    n, m, k = layout.n, layout.m, layout.k
    kept = np.arange(n) if returns is None else np.array(returns.coordinates, dtype=int)

    def rows(y, parameters):
        s0, s1, impulses, t0, T, t1 = jnp.split(y, np.cumsum([3 * n, 3 * n, m + k, 1, 1]))
        (q0, _, v0), (q, p, v), t = jnp.split(s0, 3), jnp.split(s1, 3), t1[0]
        if returns is not None:
            q0, v0 = returns(q0, v0)
        lam, psi, e = impulses[:m], impulses[m:], mechanics_of(family.at(parameters))
        before = p + e.constraint_force(t, q, lam) + e.nonholonomic.force(t, q, v, psi)
        push = jnp.zeros(0) if forces is None else jnp.ravel(forces(t, q, lam, psi))
        return jnp.concatenate([
            (q - q0)[kept], e.legendre(t, q, v, p), e.legendre(t, q, v0, before), e.hidden(t, q, v),
            e.velocity_constraint(t, q, v), e.constraint(t, q), t1 - t0 - T if returns is None else jnp.zeros(0), push,
        ])  # fmt: skip

    what = [f"q[{j}]" for j in kept] + [f"the momentum[{j % n}]" for j in range(2 * n)]
    what += [f"the velocity along constraint {j}" for j in range(m + k)] + [f"constraint {j}" for j in range(m)]
    names = (*what, *(["the time"] if returns is None else []))
    return LinkFunctions(RowDerivatives(rows), names)


class Joint(NamedTuple):
    """Which phases are linked, whether contacts close there, and how the motion returns, if it does."""

    before: int
    after: int
    closes: bool
    returns: Return | None


class Place(NamedTuple):
    """Where the unknowns and rows of a link begin in the whole problem."""

    unknown: int
    row: int


@dataclass
class Link:
    """A joint with its functions; `places` are those of y in the whole z, `dependent` is W."""

    joint: Joint
    functions: LinkFunctions
    parameters: np.ndarray
    rows: Rows
    impulses: int
    dependent: np.ndarray
    places: np.ndarray
    first: Place

    @property
    def unknowns(self) -> int:
        """Impulses and slacks."""
        return self.impulses + self.dependent.shape[1]

    @property
    def row_count(self) -> int:
        return sum(self.rows)

    @property
    def slacks(self) -> slice:
        """The places of the slacks in the whole z."""
        return slice(self.first.unknown + self.impulses, self.first.unknown + self.unknowns)

    @property
    def of_g(self) -> slice:
        """The rows of g among those of the link."""
        return slice(self.rows.motion, self.rows.motion + self.rows.g)

    def name_of(self, row: int) -> str:
        """What messages call a row of the link."""
        names = self.functions.names
        return names[row] if row < len(names) else "the impulse of a contact"


def make_link(parts: list[Transcription], offsets: np.ndarray, ends: np.ndarray, joint: Joint, first: Place) -> Link:
    """The link of a joint; `ends` are (q, v) near the end of the phase before, `offsets` where phases begin in z."""
    before, after = parts[joint.before], parts[joint.after]
    asked, layout, size = after.question, after.question.layout, after.sizes.state
    forces = asked.wishes.forces if joint.closes else None
    functions = link_functions(Family(asked.system), layout, forces, joint.returns)
    impulses, count = layout.m + layout.k, offsets[joint.before] + before.count
    last = offsets[joint.before] + before.question.steps * before.block
    places = np.concatenate([
        last + np.arange(size), offsets[joint.after] + np.arange(size), first.unknown + np.arange(impulses),
        [count - 2, count - 1, offsets[joint.after] + after.count - 2],
    ])  # fmt: skip
    kept = layout.n if joint.returns is None else len(joint.returns.coordinates)
    pushes = 0 if forces is None else after.sizes.forces
    rows = Rows(kept + 2 * layout.n + impulses, layout.m, int(joint.returns is None), pushes)
    dependent = _dependent(before.question, asked, ends, joint.returns)
    return Link(joint, functions, np.asarray(flat_parameters(asked.system)), rows, impulses, dependent, places, first)


def _dependent(before: Question, after: Question, ends: np.ndarray, returns: Return | None) -> np.ndarray:
    """W: the directions of g of the next phase that what the phase before keeps leaves without a say."""
    n, m, t = after.layout.n, after.layout.m, after.t0
    if not m:
        return np.zeros((0, 0))
    q, v = np.split(ends, 2)
    kept = "position" in before.method.claims.constraints
    space = tangent_space(undriven(before.system), None, t, q, v, on_manifold=False)[:n] if kept else np.eye(n)
    system = undriven(after.system)

    def g(q):
        here, _ = (q, v) if returns is None else returns(q, jnp.asarray(v))
        return mechanics_of(system).constraint(jnp.asarray(t), here)

    found = Function(g)(q)[1].toarray() @ space
    if returns is not None:  # coordinates that do not return are free
        free = np.setdiff1d(np.arange(n), returns.coordinates)
        here = np.asarray(returns(jnp.asarray(q), jnp.asarray(v))[0])
        slopes = Function(lambda q: mechanics_of(system).constraint(jnp.asarray(t), q))(here)[1].toarray()
        found = np.concatenate([found, slopes[:, free]], axis=1)
    return null_space(found.T, rcond=RANK) if np.any(found) else np.eye(m)
