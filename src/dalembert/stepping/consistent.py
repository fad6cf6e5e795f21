"""Consistent starting values: on the constraint manifold, with a velocity tangent to it, and the first multiplier.

Position (M = L_vv at the given point, metric of the kinetic energy)::

    M (q - q0) + g_q(t, q)^T mu = 0,      g(t, q) = 0

Velocity, through the momentum (the same metric)::

    p - p0 + g_q^T nu + k_v^T kappa = 0,      legendre(t, q, v, p) = 0,      g_q v + g_t = 0,      k(t, q, v) = 0

Multipliers: the system of `Mechanics.acceleration_residual`.
"""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from .. import nonlinear
from ..arguments import choice, floats, number
from ..engine import Unkeyed, find_root
from ..errors import ContactWarning, InconsistentStart, InputError, ModelError
from ..formulation import mechanics_of
from ..multibody import MultibodySystem
from ..problem import AbstractSystem, OverdeterminedDAE, State, holding, prepared
from .contact_start import WITHOUT_STEP, Judged, check_gaps, moved_apart
from .model_check import (
    RANK_TOLERANCE,
    check_reaction,
    check_regular,
    check_velocity_rank,
    independent_rows,
    layout_of,
)
from .nearby import RANK_NEARBY, nearby
from .scales import change_with_time, constraints_at, hidden_at, natural_speed, nonholonomic_at, relative
from .shared_equations import Family, equation, flat_parameters, for_family, recognised, traced_equation
from .start_step import Kind, native_start
from .step import Layout

#: A constraint that is violated by less than this, relative to the size of its terms (`scales.py`), is satisfied.
START_TOLERANCE = 1e-9
#: The same for `project=True`, which moves a start up to roundoff.
ROUNDOFF = 1e-14


@dataclass(frozen=True)
class ConsistentStart:
    """Starting values on the manifold and how far they were moved (maximum norm)."""

    q: jax.Array
    v: jax.Array
    p: jax.Array
    lam: jax.Array
    psi: jax.Array
    moved_q: Any
    moved_v: Any

    def __repr__(self) -> str:
        return f"ConsistentStart(moved_q={self.moved_q:.3g}, moved_v={self.moved_v:.3g}, q={self.q}, v={self.v})"


@dataclass(frozen=True)
class Start:
    """What the stepping loop begins with."""

    state: State
    layout: Layout
    rows: tuple[int, ...] | None
    warnings: tuple[str, ...] = ()  # about contacts


@holding
def consistent(system: AbstractSystem, q0, v0=None, t0: float = 0.0, *, p0=None, redundant="refuse") -> ConsistentStart:
    """Project q0 onto g = 0 and v0 onto g_q v + g_t = 0 in the mass metric, and say how far they moved.

    `redundant="allow"` admits holonomic constraints that depend on each other; `lam` is then zero for those left out.
    """
    t0 = t0 if is_traced(t0) else number("t0", t0)
    given = _vector("q0", q0)
    system = prepared(system)
    start = prepare_start(system, q0, v0, p0, t0, project=True, redundant=redundant)
    state = start.state
    if v0 is not None:
        moved_v = state.v - _vector("v0", v0)
    else:
        moved_v = state.p - _vector("p0", p0)
    return ConsistentStart(
        q=state.q,
        v=state.v,
        p=state.p,
        lam=state.lam if start.rows is None else _for_all(state.lam, start.rows, layout_of(system, len(given)).m),
        psi=state.psi,
        moved_q=_size(state.q - given),
        moved_v=_size(moved_v),
    )


def _for_all(lam, rows, count: int):
    """The multipliers of all rows, zero for those that are left out."""
    return jnp.zeros(count).at[jnp.asarray(rows)].set(lam)


def _size(x):
    return jnp.max(jnp.abs(x), initial=0.0) if is_traced(x) else float(np.max(np.abs(x), initial=0.0))


def is_traced(*trees) -> bool:
    """True if any leaf is a JAX tracer."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(trees))


def prepare_start(
    system: AbstractSystem, q0, v0, p0, t0, *, project: bool, redundant: str, any_velocity: bool = False,
    judged: Judged = WITHOUT_STEP,
) -> Start:  # fmt: skip
    """Checked starting values with both v and p and the first multiplier; contacts are `judged` as this says.

    Many arguments: those of `simulate` that say where a motion begins.
    """
    choice("redundant", redundant, ("refuse", "allow"))
    if (v0 is None) == (p0 is None):
        raise InputError("give exactly one of v0 (velocity) and p0 (momentum).")
    q = _vector("q0", q0)
    second_name, second = ("v0", _vector("v0", v0)) if v0 is not None else ("p0", _vector("p0", p0))
    if second.shape != q.shape:
        raise InputError(f"{second_name} must have the shape of q0, {q.shape}, got {second.shape}.")
    if isinstance(system, MultibodySystem) and q.shape[0] != system.size:
        raise InputError(
            f"q0 has {q.shape[0]} entries, but {type(system).__name__} in {system.coordinates} has {system.size}; "
            f'model.assemble(..., coordinates="{system.coordinates}") gives a start for it.'
        )
    recognised(system, q.shape[0])
    layout = layout_of(system, q.shape[0])
    if is_traced(system, q, second):
        _check_freedom(system, layout)
        return _traced_start(system, q, second, second_name, t0, project, layout)
    asked = _Asked(
        np.asarray(q), np.asarray(second), second_name, float(t0), project, redundant, layout, any_velocity,
        judged if layout.contacts else WITHOUT_STEP,  # without contacts another h asks nothing new
    )  # fmt: skip
    numbers = (np.asarray(flat_parameters(system)).tobytes(), asked.q.tobytes(), asked.second.tobytes())
    start = _remembered_start(Family(system), numbers, asked[2:], Unkeyed((system, asked)))
    for text in start.warnings:
        warnings.warn(text, ContactWarning, stacklevel=2)
    return dataclasses.replace(start, state=State(*(np.array(part) for part in start.state)))  # the caller's own


def _check_freedom(system: AbstractSystem, layout: Layout, t: float | None = None, q=None) -> None:
    """Refuse as many constraints as coordinates, unless they change with time and so drive the motion."""
    driven = layout.m == layout.n and not layout.k and t is not None and change_with_time(system, t, q)
    if layout.m + layout.k >= layout.n and (layout.m or layout.k) and not driven:
        kinds = [f"{layout.m} independent holonomic"] if layout.m else []
        kinds += [f"{layout.k} nonholonomic"] if layout.k else []
        raise ModelError(
            f"{type(system).__name__} has {' and '.join(kinds)} constraints on {layout.n} coordinates: nothing is left "
            "to move. Check the constraints and the length of q0."
        )


def _vector(name: str, value):
    if value is None:
        raise InputError(f"{name} is missing; give an array of shape (n,).")
    if is_traced(value):
        array = jnp.asarray(value, jnp.float64)
    else:
        array = floats(name, value, finite=True)
    if array.ndim != 1 or array.shape[0] == 0:
        raise InputError(f"{name} must have shape (n,) with n >= 1, got {array.shape}.")
    return array


# -- numbers ---------------------------------------------------------------------------------------------------


@for_family(maxsize=64)
def _remembered_start(family: Family, numbers: tuple[bytes, ...], settings: tuple, arguments: Unkeyed) -> Start:
    """The same start again, with another method or another step size, is not computed again."""
    return _eager_start(*arguments.value)


class _Asked(NamedTuple):
    """What a start is to be made of; `second_name` says whether `second` is v0 or p0."""

    q: np.ndarray
    second: np.ndarray
    second_name: str
    t: float
    project: bool
    redundant: str
    layout: Layout
    any_velocity: bool
    judged: Judged


def _eager_start(system: AbstractSystem, asked: _Asked) -> Start:
    point = _Point(system, asked)
    if not isinstance(system, OverdeterminedDAE):
        check_regular(system, asked.t, point.q, point.v, point.p)
    point.settle_position()
    if point.layout.contacts and asked.project:
        apart = moved_apart(system, point.rows, point.layout.m, asked.t, point.q, point.v, point.p)
        if apart is not point.q:
            point.move_to(apart)
    if isinstance(system, OverdeterminedDAE) and point.rows is None:
        check_reaction(system, asked.t, point.q, point.p)
    if point.layout.m or point.layout.k:
        check_velocity_rank(system, point.rows, asked.t, point.q, point.v)
        if not asked.any_velocity:
            point.settle_velocity()
    return point.with_multipliers()


class _Point:
    """Where a motion begins, on the way to its constraints: position, velocity and momentum."""

    def __init__(self, system: AbstractSystem, asked: _Asked) -> None:
        self._system, self._asked, self._name = system, asked, type(system).__name__
        self._enough = ROUNDOFF if asked.project else START_TOLERANCE
        self.q, self.rows, self.layout = asked.q, None, asked.layout
        self.v, self.p = velocity_and_momentum(system, asked.t, asked.q, asked.second, asked.second_name)

    def move_to(self, q: np.ndarray) -> None:
        """Another position, with the velocity kept where v0 was given, else the momentum."""
        self.q, name = q, self._asked.second_name
        self.v, self.p = velocity_and_momentum(self._system, self._asked.t, q, self.v if name == "v0" else self.p, name)

    def settle_position(self) -> None:
        """Choose the rows, and be on g = 0, or refuse."""
        system, asked, near, off = self._system, self._asked, self.q, False
        if self.layout.m:
            found = constraints_at(system, asked.t, self.q)
            parts = relative(found.value, found.scales)
            off = bool(np.any(parts > self._enough))
            if asked.project and np.any(parts > START_TOLERANCE):
                near = nearby(system, asked.t, self.q, self.v, self.p)
        tolerance = RANK_TOLERANCE if near is self.q else RANK_NEARBY
        self.rows = independent_rows(system, asked.t, near, asked.redundant, tolerance)
        if self.rows is not None:
            self.layout = dataclasses.replace(self.layout, m=len(self.rows))
        _check_freedom(system, self.layout, asked.t, near)
        if off and not asked.project:
            raise _inconsistent(system, "position", "g(t0, q0)", found.value, parts, "q0")
        if off:
            self._project_position(near)

    def _project_position(self, near: np.ndarray) -> None:
        """Onto g = 0; `near` is a point there next to q."""
        system, t, n = self._system, self._asked.t, len(self.q)
        guess = np.concatenate([self.q if self.rows is None else near, np.zeros(n + self.layout.m)])
        x = find_root(equation(system, "position", self.rows), guess, t, self.q, self.v, self.p)
        if x is None:
            defect = float(np.max(np.abs(constraints_at(system, t, self.q).value)))
            raise InconsistentStart(
                f"{self._name}: q0 cannot be projected onto the holonomic constraints (largest defect {defect:.3g}); "
                "start closer to the constraint manifold."
            )
        left = constraints_at(system, t, x[:n])
        worst = int(np.argmax(relative(left.value, left.scales)))
        if relative(left.value, left.scales)[worst] > START_TOLERANCE:
            raise InconsistentStart(
                f"{self._name}: the holonomic constraints contradict each other: where the independent ones hold, "
                f"holonomic[{worst}] = {left.value[worst]:.6g}, expected 0."
            )
        self.move_to(x[:n])

    def settle_velocity(self) -> None:
        """Be on g_q v + g_t = 0 and k = 0, or refuse."""
        found = self._velocity_defects(0.0)
        if self._hold(found):
            return
        # once more next to the speed that the forces give, which costs a solution
        found = self._velocity_defects(natural_speed(self._system, self.rows, self._asked.t, self.q, self.v, self.p))
        if self._hold(found):
            return
        name = self._asked.second_name
        if not self._asked.project:
            kind, symbol, value, parts = next(d for d in found if np.max(d[3], initial=0.0) > START_TOLERANCE)
            raise _inconsistent(self._system, "velocity", symbol, value, parts, name, kind)
        count = sum(len(self.rows) if kind == "holonomic" and self.rows is not None else len(value)
                    for kind, _, value, _ in found)  # fmt: skip
        guess = np.concatenate([self.v, self.p, np.zeros(count)])
        x = find_root(equation(self._system, "velocity", self.rows), guess, self._asked.t, self.q, self.p)
        if x is None:
            raise InconsistentStart(
                f"{self._name}: {name} cannot be projected onto the constraints on the velocity; start closer to them."
            )
        n = len(self.q)
        self.v, self.p = x[:n], x[n : 2 * n]

    def _velocity_defects(self, speed: float) -> list[tuple[str, str, np.ndarray, np.ndarray]]:
        """For each kind of constraint its symbol, its defects, and these relative to the sizes of their terms."""
        system, t, defects = self._system, self._asked.t, []
        if system.provides("holonomic"):
            rows = hidden_at(constraints_at(system, t, self.q), self.v, speed)
            defects.append(("holonomic", "g_q v + g_t", *rows))
        if system.provides("nonholonomic"):
            defects.append(("nonholonomic", "k(t0, q0, v0)", *nonholonomic_at(system, t, self.q, self.v, speed)))
        return [(kind, symbol, value, relative(value, scales)) for kind, symbol, value, scales in defects]

    def _hold(self, found: list) -> bool:
        return all(np.max(parts, initial=0.0) <= self._enough for *_, parts in found)

    def with_multipliers(self) -> Start:
        """The start, with the multipliers that the equations of motion have there."""
        system, t, layout, motion = self._system, self._asked.t, self.layout, (self.q, self.v, self.p)
        n, m = layout.n, layout.m
        x = find_root(equation(system, "ideal acceleration", self.rows), np.zeros(2 * n + m + layout.k), t, *motion)
        if x is not None and system.provides("reaction"):
            x = find_root(equation(system, "acceleration", self.rows), x, t, *motion)
        if x is None:
            raise ModelError(
                f"{self._name}: the equations of motion have no unique solution at the start (t={t:g}); "
                "forces or constraints are not finite there, or the constrained directions carry no inertia."
            )
        said = check_gaps(system, self.rows, t, *motion, x[:n], self._asked.judged) if layout.contacts else ()
        impulse = np.zeros(layout.contacts * layout.directions)
        state = State(self.q, self.p, self.v, lam=x[2 * n : 2 * n + m], psi=x[2 * n + m :], impulse=impulse)
        return Start(state, layout, self.rows, said)


def velocity_and_momentum(system: AbstractSystem, t, q, second, second_name):
    """Both v and p from the one given; p = L_v is explicit, the inverse is a Newton solve."""
    explicit = (second_name == "v0") != system.gives_velocity
    zero = np.zeros_like(second)
    function = equation(system, "legendre by p" if second_name == "v0" else "legendre by v")
    if explicit:
        sign = 1.0  # legendre is (wanted) - (function of the given)
        other = -sign * function(zero, t, q, second)[0]
    else:
        other = find_root(function, zero, t, q, second)
        if other is None:
            what = "H_p(t, q, p) = v0 for p" if second_name == "v0" else "L_v(t, q, v) = p0 for v"
            raise ModelError(
                f"{type(system).__name__} is not regular at the start: cannot solve {what}. "
                "The mass matrix is singular, or the value is out of reach."
            )
    if not np.all(np.isfinite(other)):
        what = "derivatives of the Hamiltonian" if system.gives_velocity else "derivatives of the Lagrangian"
        if isinstance(system, OverdeterminedDAE):
            what = "values of velocity(y0, z0)"
        raise ModelError(
            f"{type(system).__name__}: the {what} are not finite at the start (t={t:g}); check q0 and the parameters."
        )
    return (second, other) if second_name == "v0" else (other, second)


def _inconsistent(system, level, symbol, defect, parts, argument, kind="holonomic") -> InconsistentStart:
    worst = int(np.argmax(parts > (1.0 - 1e-9) * np.max(parts)))  # the first of those that are equal up to roundoff
    others = int(np.sum(parts > START_TOLERANCE)) - 1
    more = f" (and {others} more)" if others > 0 else ""
    return InconsistentStart(
        f"{type(system).__name__}: the start violates {system.constraint_name(kind, worst)} at {level} level{more}: "
        f"{symbol} = {defect[worst]:.6g}, "
        f"expected 0. Correct {argument}, pass project=True to move it onto the constraints, "
        "or see how far it would move with da.consistent(...)."
    )


# -- tracers ---------------------------------------------------------------------------------------------------


def _traced_start(system, q, second, second_name, t, project, layout: Layout) -> Start:
    """The same under jit, vmap and grad: differentiable, with run-time errors instead of messages in advance."""
    mechanics = mechanics_of(system)
    n, m, k = layout.n, layout.m, layout.k
    t, q, second = jnp.asarray(t, jnp.float64), jnp.asarray(q), jnp.asarray(second)
    state = native_start(system, q, second, t, layout, Kind(second_name, project))
    if state is not None:
        return Start(state, layout, None)

    explicit = (second_name == "v0") != system.gives_velocity
    legendre = traced_equation(system, "legendre by p" if second_name == "v0" else "legendre by v")

    def other_of(q, given):
        other = -legendre(jnp.zeros(n), t, q, given) if explicit else _traced_root(legendre, given, t, q, given)
        return (given, other) if second_name == "v0" else (other, given)

    v, p = other_of(q, second)
    if m and project:
        guess = jnp.concatenate([q, jnp.zeros(n + m)])
        q = _traced_root(traced_equation(system, "position"), guess, t, q, v, p)[:n]
        v, p = other_of(q, second)
    if (m or k) and project:
        x = _traced_root(traced_equation(system, "velocity"), jnp.concatenate([v, p, jnp.zeros(m + k)]), t, q, p)
        v, p = x[:n], x[n : 2 * n]
    elif m or k:
        defects = mechanics.constraint(t, q), mechanics.hidden(t, q, v), mechanics.velocity_constraint(t, q, v)
        size = jnp.maximum(1.0, jnp.maximum(jnp.max(jnp.abs(q)), jnp.max(jnp.abs(v)))) ** 2
        bad = jnp.max(jnp.abs(jnp.concatenate(defects))) > 10 * START_TOLERANCE * size
        kind = "constraint" if k else "holonomic constraint"
        q = eqx.error_if(q, bad, f"{type(system).__name__}: the start violates a {kind}; pass project=True.")
    found = mechanics.acceleration(t, q, v, p)
    if layout.contacts:
        open_gaps = mechanics.contact.gap(t, q) >= -START_TOLERANCE
        q = eqx.error_if(q, ~jnp.all(open_gaps), f"{type(system).__name__}: a contact penetrates at the start.")
    impulse = jnp.zeros(layout.contacts * layout.directions)
    return Start(State(q=q, p=p, v=v, lam=found.lam, psi=found.psi, impulse=impulse), layout, None)


def _traced_root(function, guess, *arguments):
    root = nonlinear.find_root(function, guess, arguments, 50)
    return eqx.error_if(root.x, ~root.converged, "the starting values could not be computed (Newton did not converge)")
