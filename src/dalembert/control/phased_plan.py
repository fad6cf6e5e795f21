"""`optimal_control` with phases: from the user's arguments to one problem, and from its solution to a plan."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import floats, shown, takes
from ..engine import OK
from ..errors import InputError, ModelError
from ..formulation import mechanics_of
from ..method import Method
from ..problem import AbstractSystem, prepared, undriven
from ..simulation import InputNodes
from ..simulation.boundary_guess import path_between
from ..stepping import Layout, Run, Status, layout_of
from ..trajectory import Trajectory
from .links import Joint, Return
from .newton_optimum import Solution
from .phase import Contacts, Phase, contacts_in, forces_in, in_phase, path_in
from .phased import Phased
from .plan import Plan
from .question import Asked, Question, coordinates_in, periodic_of, question_of, side_of
from .transcription import Transcription


class Schedule(NamedTuple):
    """The phases of a plan, checked: what is closed in each, the question of each, and how they are linked."""

    base: AbstractSystem
    phases: tuple[Phase, ...]
    contacts: tuple[Contacts, ...]
    questions: list[Question]
    joints: list[Joint]


def schedule_of(system: AbstractSystem, method: Method, asked: Asked, phases: Any, guess: Any) -> Schedule:
    """The user's phases with the questions they ask."""
    if not isinstance(phases, tuple | list) or not phases or not all(isinstance(one, Phase) for one in phases):
        raise InputError(f"phases must be a list of da.Phase(steps, horizon, closed), got {shown(phases)}.")
    if asked.horizon is not None or asked.steps is not None:
        raise InputError("with phases, horizon and steps are those of each da.Phase: leave them out elsewhere.")
    base, n = undriven(prepared(system)), coordinates_in(asked, _any_coordinates(guess))
    contacts = tuple(contacts_in(base, phase, n) for phase in phases)
    returns = _returns(asked.periodic, n)
    questions, begun, last = [], asked.t0, len(phases) - 1
    for j, (phase, touching) in enumerate(zip(phases, contacts, strict=True)):
        own = asked._replace(
            start=asked.start if j == 0 else None, end=asked.end if j == last else None, steps=phase.steps,
            horizon=phase.horizon, final=asked.final if j == last else None, path=path_in(base, touching, asked.path),
            periodic=None, t0=begun, forces=forces_in(base, touching), linked=j > 0 or returns is not None,
        )  # fmt: skip
        questions.append(question_of(in_phase(base, touching), method, own, n))
        begun = begun + _middle(questions[-1].horizon)
    joints = [Joint(j, j + 1, _closes(contacts[j], contacts[j + 1]), None) for j in range(last)]
    if returns is not None:
        if questions[0].wishes.starts_in_state:
            raise InputError("a periodic plan finds its start: give start as a function of (t, q, v), or leave it out.")
        joints.append(Joint(last, 0, _closes(contacts[last], contacts[0]) or returns.map is not None, returns))
    return Schedule(base, tuple(phases), contacts, questions, joints)


def _closes(before: Contacts, after: Contacts) -> bool:
    return bool(set(after.closed) - set(before.closed))


def _middle(horizon: tuple[float, float]) -> float:
    least, most = horizon
    return (least + most) / 2 if np.isfinite(most) else 2.0 * least


def _returns(periodic: Any, n: int) -> Return | None:
    """What returns at the end: all coordinates, some of them, or what a function of (q, v) gives."""
    if not callable(periodic):
        coordinates = periodic_of(periodic, n)
        return None if coordinates is None else Return(coordinates, None)
    if not takes(periodic, 2):
        raise InputError(f"periodic as a function must take (q, v), got {shown(periodic)}.")
    vector = jax.ShapeDtypeStruct((n,), jnp.float64)
    try:
        shapes = [np.shape(part) for part in jax.eval_shape(periodic, vector, vector)]
    except Exception as error:
        raise ModelError(f"periodic(q, v) failed: {error}") from error
    if shapes != [(n,), (n,)]:
        raise ModelError(f"periodic(q, v) must return a pair of shapes ({n},) and ({n},), got {shapes}.")
    return Return(tuple(range(n)), periodic)


# -- where the search begins --------------------------------------------------------------------------------------


def _any_coordinates(guess: Any) -> int | None:
    """The number of coordinates of a guess, whatever it is."""
    one = guess[0] if isinstance(guess, tuple | list) and len(guess) else guess
    if one is None:
        return None
    shape = np.shape(one.q if isinstance(one, Trajectory) else one)
    if len(shape) != 2:
        raise InputError("guess must be a plan or a run, positions of shape (all steps + 1, n), or a list with one of "
                         f"these for each phase, got {shown(guess, 80)}.")  # fmt: skip
    return shape[1]


def guesses_of(schedule: Schedule, guess: Any, asked: Asked) -> Sequence[Any]:
    """A guess for each phase."""
    phases = schedule.phases
    edges = np.cumsum([0, *(phase.steps for phase in phases)])
    if isinstance(guess, PhasedPlan) and len(guess.phases) == len(phases):
        return guess.phases
    if isinstance(guess, tuple | list):
        if len(guess) != len(phases):
            raise InputError(f"guess must have one entry for each of the {len(phases)} phases, got {len(guess)}.")
        return guess
    if guess is None:
        path = _straight(schedule, asked, int(edges[-1]))
    elif isinstance(guess, Trajectory):
        lengths = [_middle(question.horizon) for question in schedule.questions]
        begun = np.cumsum([0.0, *lengths]) / sum(lengths)
        share = np.concatenate([
            [0.0], *(np.linspace(a, b, k.steps + 1)[1:] for a, b, k in zip(begun, begun[1:], phases, strict=False)),
        ])  # fmt: skip
        own = (np.asarray(guess.t) - guess.t[0]) / (guess.t[-1] - guess.t[0])
        path = np.stack([np.interp(share, own, column) for column in np.asarray(guess.q).T], axis=1)
    else:
        path = floats("guess", guess, finite=True)
    if len(path) != edges[-1] + 1:
        raise InputError(f"guess must hold a position for each of the {edges[-1] + 1} states of all phases, got the "
                         f"shape {path.shape}.")  # fmt: skip
    return [path[a : b + 1] for a, b in itertools.pairwise(edges)]


def _straight(schedule: Schedule, asked: Asked, steps: int) -> np.ndarray:
    first, last = side_of("start", asked.start).q, side_of("end", asked.end).q
    if first is None or last is None:
        raise InputError("without a position at the start and at the end, phases need a guess=...: positions of shape "
                         "(all steps + 1, n), or a list of one guess for each phase.")  # fmt: skip
    free = in_phase(schedule.base, schedule.contacts[0]._replace(closed=(), stuck=()))
    return path_between(free, layout_of(free, len(first)), np.linspace(0.0, 1.0, steps + 1), first, last)


class Beginning(NamedTuple):
    """A problem, and where its solution begins."""

    problem: Phased
    z: np.ndarray
    multipliers: np.ndarray | None
    more: dict[str, np.ndarray]


def joined(schedule: Schedule, parts: list[tuple[Transcription, np.ndarray]], guess: Any) -> Beginning:
    """The whole problem from the problems of its phases, each with where it begins."""
    problems, first = [part for part, _ in parts], [z for _, z in parts]
    n = schedule.questions[0].layout.n
    ends = [np.delete(part.states(z)[-1], np.arange(n, 2 * n)) for part, z in parts]
    problem = Phased(problems, schedule.joints, ends)
    _let_go(schedule, problem)
    z = np.concatenate([*first, np.zeros(problem.count - problem.offsets[-1])])
    if isinstance(guess, PhasedPlan):
        before, found = guess._problem, guess._solution
        if (before.count, before.row_count) == (problem.count, problem.row_count):
            return Beginning(problem, np.clip(found.z, problem.lower, problem.upper), found.multipliers, found.more)
    return Beginning(problem, z, None, {})


def _let_go(schedule: Schedule, problem: Phased) -> None:
    """Gaps of contacts that just opened or are about to close are zero by equations: no inequality asks that again."""
    for joint in schedule.joints:
        before, after = schedule.contacts[joint.before], schedule.contacts[joint.after]
        for number, own, other, at_start in (
            (joint.after, after, before, True), (joint.before, before, after, False)
        ):  # fmt: skip
            part, first_row = problem.parts[number], problem.first_rows[number]
            touching = other.closed if joint.returns is None or joint.returns.map is None else own.open
            for place, contact in enumerate(own.open):
                if contact in touching:
                    gap = part.question.path_size - len(own.open) + place
                    problem.row_lower[first_row + part.path_row(gap, at_start)] = -np.inf


# -- what was found -----------------------------------------------------------------------------------------------


class PhasedPlan(Plan):
    """A plan of several phases, one after the other.

    At the time at which a phase begins it has the state after the impact; `phases` has the states before it, too.
    `impulse` of the contacts is the step size times the force at the end of the step, and with it the impulse of the
    impact where a phase begins.

    Attributes:
        phases: the plan of each phase, a `Plan` whose system has the closed contacts as constraints.
        impacts: the impulses of the contacts where each phase begins, (phases, contacts, directions).
    """

    phases: tuple[Plan, ...]
    impacts: np.ndarray


_without_phases: Any = Trajectory.tree_unflatten
jax.tree_util.register_pytree_node(PhasedPlan, PhasedPlan.tree_flatten, _without_phases)


def phased_plan_of(schedule: Schedule, problem: Phased, solution: Solution, plan_of: Any, begun: float) -> PhasedPlan:
    """The record of a solution; `plan_of` makes that of one phase."""
    z, mu, phases = problem.own(solution.z), problem.own_multipliers(solution.multipliers), []
    for j, part in enumerate(problem.parts):
        own = Solution(z[j], mu[j], True, "", solution.history, solution.solver)
        phases.append(plan_of(part, own, 0.0, problem.costate_at_end(solution.z, solution.multipliers, j)))
    shape = _contact_shape(schedule.base, phases[0].q[0])
    impacts = np.zeros((len(phases), *shape))
    for link in problem.links:
        j = link.joint.after
        rows = problem.parts[j].question.layout.m
        lam, psi = np.split(solution.z[link.first.unknown :][: link.impulses], [rows])
        impacts[j] = _contact_rows(schedule.contacts[j], lam[None], psi[None], shape)[0]
    run = _run_of(schedule, problem, solution, phases, impacts, begun)
    plan: Any = PhasedPlan._from_run(run)
    layout = run.layout
    plan._arrays["costate"] = _in_a_row([one.costate for one in phases])
    plan._arrays["lam"] = _in_a_row([one.lam[:, : layout.m] for one in phases])
    plan._arrays["psi"] = _in_a_row([one.psi[:, : layout.k] for one in phases])
    plan.cost, plan.horizon, plan.history = run.stats["cost"], float(run.t[-1] - run.t[0]), solution.history
    plan.control = InputNodes(phases[0].control.points, np.concatenate([one.control.values for one in phases]))
    plan.phases, plan.impacts = tuple(phases), impacts
    plan._problem, plan._solution = problem, solution
    return plan


def _in_a_row(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The states of all phases; where one begins, the state after the impact."""
    return np.concatenate([*(part[:-1] for part in parts[:-1]), parts[-1]])


def _contact_shape(base: Any, q: np.ndarray) -> tuple[int, int]:
    """How many contacts there are, and how many directions each of them has."""
    contact = mechanics_of(base).contact
    t, here = jnp.zeros(()), jnp.asarray(q)
    return contact.count(t, here), 1 + contact.tangents(t, here).shape[1]


def _contact_rows(contacts: Contacts, lam: np.ndarray, psi: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Forces or impulses of all contacts, (N, contacts, directions), from the multipliers of a phase."""
    found = np.zeros((len(lam), *shape))
    if contacts.closed:
        found[:, list(contacts.closed), 0] = -lam[:, lam.shape[1] - len(contacts.closed) :]
    if contacts.stuck:
        along = psi[:, psi.shape[1] - len(contacts.stuck) * (shape[1] - 1) :]
        found[:, list(contacts.stuck), 1:] = -along.reshape(len(along), len(contacts.stuck), shape[1] - 1)
    return found


def _impulses(schedule: Schedule, phases: list[Plan], impacts: np.ndarray) -> np.ndarray:
    """Those of the contacts in the step before each state, with the impact at it, (N, contacts, directions)."""
    found = [impacts[:1]]
    for j, (plan, contacts) in enumerate(zip(phases, schedule.contacts, strict=True)):
        own = plan.h * _contact_rows(contacts, plan.lam[1:], plan.psi[1:], impacts.shape[1:])
        if j + 1 < len(phases):
            own[-1] += impacts[j + 1]
        found.append(own)
    return np.concatenate(found)


def _run_of(schedule: Schedule, problem: Phased, solution: Solution, phases: list[Plan], impacts: np.ndarray,
            begun: float) -> Run:  # fmt: skip
    """All phases as one run of the system with its contacts."""
    asked, contacts = problem.parts[0].question, schedule.contacts[0]
    along = len(contacts.stuck) * (impacts.shape[2] - 1)
    own = asked.layout.m - len(contacts.closed), asked.layout.k - along
    layout = Layout(asked.layout.n, *own, *impacts.shape[1:])
    motion = [_in_a_row([getattr(plan, name) for plan in phases]) for name in ("q", "p", "v")]
    held = [_in_a_row([getattr(plan, name)[:, :rows] for plan in phases]) for name, rows in zip(
        ("lam", "psi"), own, strict=True)]  # fmt: skip
    impulses = _impulses(schedule, phases, impacts)
    states = np.concatenate([*motion, *held, impulses.reshape(len(impulses), -1)], axis=1)
    t, h = _in_a_row([plan.t for plan in phases]), np.concatenate([np.full(len(p.t) - 1, p.h) for p in phases])
    cost, rows = problem.evaluate(solution.z)
    iterations, steps = max(len(solution.history) - 1, 0), len(h)
    stats = phases[0].stats | {
        "steps": steps, "cost": cost, "iterations": iterations, "unknowns": problem.count,
        "equations": problem.row_count, "wall_seconds": time.perf_counter() - begun,
        "defect": float(np.max(np.maximum(problem.row_lower - rows, rows - problem.row_upper))),
    }  # fmt: skip
    status = Status(OK, steps, float(t[-1]), f"ok: {steps} steps in {len(phases)} phases, cost {cost:.6g}")
    used = _in_a_row([plan.u for plan in phases]) if asked.inputs.size else None
    counts = np.full(steps, iterations)
    return Run(
        schedule.base, asked.method, layout, None, t, states, counts, counts, status, h, stats, inputs=used
    )  # fmt: skip
