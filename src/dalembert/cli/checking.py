"""`dalembert check`: is the model well formed, the start consistent, and what does a short run keep?"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import typer

from ..arguments import choice
from ..engine import StepFunctions
from ..errors import DalembertError, InconsistentStart, InputError, ModelError, RedundantConstraints
from ..formulation import Mechanics, mechanics_of, symmetries
from ..method import METHODS, Method
from ..problem import AbstractSystem, HamiltonianSystem, parameter_record, prepared
from ..problem import System as LagrangianSystem
from ..simulation import simulate
from ..stepping import Layout, assemble, check_fit, consistent
from ..stepping.consistent import START_TOLERANCE, velocity_and_momentum
from ..stepping.model_check import DENSE_ROWS, check_regular, independent_rows, layout_of
from ..stepping.scales import constraints_at, hidden_at, relative
from ..trajectory import Trajectory
from . import show
from .models import Launch, launch_from, method_from, system_from
from .options import P0, Q0, T0, V0, Parameters, Redundant, StepSize
from .simulating import MethodName, System, invariant_changes

Explain = Annotated[bool, typer.Option("--explain", help="Show what every pass of the engine did with a step.")]
SHORT_RUN = 200  # steps
#: A change below this, relative to the size of the quantity, is roundoff.
KEPT = 1e-11
NOT_KEPT = "not kept"


class CheckError(DalembertError):
    """The check found something that keeps the model from running."""


@dataclass
class Report:
    """Tables to print, and the problems found."""

    tables: list[tuple[str, list[show.Row]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def check_command(
    system: System,
    method: MethodName = "",
    h: StepSize = None,
    t0: T0 = 0.0,
    q0: Q0 = None,
    v0: V0 = None,
    p0: P0 = None,
    param: Parameters = None,
    redundant: Redundant = "refuse",
    explain: Explain = False,
    as_json: show.Json = False,
) -> None:
    """Check a model: shapes, rank, degrees of freedom, start, inertia, and what a short run keeps.

    --explain adds how the engine made code of a step, pass by pass. Exit status 1 if something keeps it from running.
    """
    chosen = method_from(method) if method else None
    model = prepared(system_from(system, param or []))
    choice("redundant", redundant, ("refuse", "allow"))
    report = examine(model, launch_from(model, q0, v0, p0, t0, None, h), chosen, redundant, explain)
    console = show.console()
    if as_json:
        show.print_json({"findings": {title: dict(rows) for title, rows in report.tables}, "problems": report.problems})
    for title, rows in report.tables if not as_json else ():
        console.print(show.facts(title, rows))
        console.print()
    if report.problems:
        count = len(report.problems)
        raise CheckError(f"{count} problem{'s' if count > 1 else ''} found: " + " ".join(report.problems))
    if not as_json:
        console.print("No problems found.")


def examine(
    system: AbstractSystem, launch: Launch, method: Method | None, redundant: str = "refuse", explain: bool = False
) -> Report:
    """Everything that can be said about a model at a start, from shapes to a short run."""
    report = Report()
    n = len(launch.q0)
    second_name, second = ("v0", launch.v0) if launch.v0 is not None else ("p0", launch.p0)
    assert second is not None  # a launch has one of them
    if second.shape != launch.q0.shape:
        raise InputError(f"{second_name} must have the shape of q0, ({n},), got {second.shape}.")
    layout = layout_of(system, n)
    mechanics = mechanics_of(system)
    t, q = launch.t0, launch.q0
    v, p = velocity_and_momentum(system, t, q, second, second_name)
    report.tables.append((type(system).__name__, _model_rows(system, mechanics, layout, t, q, v)))
    report.tables.append(("Inertia", _inertia_rows(system, t, q, v, p, report)))
    rows = None
    if layout.m:
        rows = _constraint_rows(system, layout, launch, v, report, redundant)
    if not report.problems:
        _short_run(system, launch, layout, rows, method, report, redundant, explain)
    return report


def _model_rows(system, mechanics: Mechanics, layout: Layout, t, q, v) -> list[show.Row]:
    is_hamiltonian = isinstance(system, HamiltonianSystem)
    parameters = ", ".join(f"{name}={value}" for name, value in parameter_record(system).items())
    later = t + 0.37
    moves = layout.m and not np.allclose(mechanics.constraint(jnp.asarray(t), q), mechanics.constraint(later, q))
    return [
        ("given by", "a Hamiltonian H(t, q, p)" if is_hamiltonian else "a Lagrangian L(t, q, v)"),
        ("parameters", parameters or "none"),
        ("further parts", ", ".join(system.parts) or "none"),
        ("coordinates", str(layout.n)),
        ("holonomic constraints", f"{layout.m}{', depending on time' if moves else ''}"),
        *([("nonholonomic constraints", str(layout.k))] if layout.k else []),
        *([("degrees of freedom", str(layout.n - layout.k))] if not layout.m else []),
        *([("contacts", _contacts(mechanics, layout, t, q))] if layout.contacts else []),
        ("symmetries", ", ".join(s.name for s in symmetries(system, q, v=v, t=t)) or "none found"),
        ("start", f"t = {t:g}, q = {show.vector(q)}, v = {show.vector(v)}"),
    ]


def _contacts(mechanics: Mechanics, layout: Layout, t, q) -> str:
    gap = np.asarray(mechanics.contact.gap(jnp.asarray(t), jnp.asarray(q)))
    friction = {1: "without friction directions", 2: "friction in the plane", 3: "friction in space"}
    return f"{layout.contacts}, {friction[layout.directions]}, smallest gap {show.number(np.min(gap))}"


def _inertia_rows(system, t, q, v, p, report: Report) -> list[show.Row]:
    is_hamiltonian = isinstance(system, HamiltonianSystem)
    name = "H_pp" if is_hamiltonian else "mass matrix L_vv"
    try:
        check_regular(system, t, q, v, p)
    except ModelError as error:
        report.problems.append(str(error))
        return [(name, "singular")]
    if len(q) > DENSE_ROWS:
        return [(name, "regular")]
    time, place = jnp.asarray(t), jnp.asarray(q)
    if is_hamiltonian:
        matrix = jax.hessian(lambda p: system.hamiltonian(time, place, p))(jnp.asarray(p))
    else:
        matrix = jax.hessian(lambda v: system.lagrangian(time, place, v))(jnp.asarray(v))  # pyright: ignore
    eigenvalues = np.linalg.eigvalsh(np.asarray(matrix))
    sign = "positive definite" if eigenvalues[0] > 0 else "not positive definite"
    return [(name, f"regular, {sign}, condition number {show.number(np.linalg.cond(matrix))}")]


def _constraint_rows(system, layout: Layout, launch: Launch, v, report: Report, redundant: str):
    """Rank and consistency; returns the independent rows, or None if all are."""
    t, q = launch.t0, launch.q0
    found = constraints_at(system, t, q)
    hidden, hidden_scales = hidden_at(found, v)
    allowed = independent_rows(system, t, q, "allow")
    rank = layout.m if allowed is None else len(allowed)
    rows = [
        ("Jacobian g_q", f"{layout.m} x {layout.n}, {found.gradients.nnz} non-zeros"),
        ("rank", f"{rank} of {layout.m}"),
        ("degrees of freedom", str(layout.n - rank)),
    ]
    if allowed is not None and redundant == "refuse":
        try:
            independent_rows(system, t, q, "refuse")
        except RedundantConstraints as error:
            report.problems.append(str(error))
    sizes = []
    for level, symbol, defect, scales in (
        ("position", "g", found.value, found.scales), ("velocity", "g_q v + g_t", hidden, hidden_scales),
    ):  # fmt: skip
        worst = int(np.argmax(np.abs(defect)))
        sizes.append(float(np.max(relative(defect, scales))))
        rows.append((f"at {level} level", f"max |{symbol}| = {show.small(abs(defect[worst]))} (holonomic[{worst}])"))
    consistent_start = max(sizes) <= START_TOLERANCE
    if consistent_start:
        rows.append(("start", "consistent"))
    elif allowed is None or redundant == "allow":
        rows.append(("start", _distance(system, launch, redundant)))
        report.problems.append("the start is inconsistent: correct it, or run with --project.")
    report.tables.append(("Constraints", rows))
    return allowed


def _distance(system: AbstractSystem, launch: Launch, redundant: str) -> str:
    try:
        moved = consistent(system, launch.q0, launch.v0, launch.t0, p0=launch.p0, redundant=redundant)
    except InconsistentStart as error:
        return f"inconsistent, and no projection onto the constraints was found ({error})"
    second = "v" if launch.v0 is not None else "p"
    return (
        f"inconsistent; --project would move q by {show.small(moved.moved_q)} to {show.vector(moved.q)}, "
        f"{second} by {show.small(moved.moved_v)}"
    )


def _short_run(
    system, launch: Launch, layout: Layout, rows, method: Method | None, report: Report, redundant, explain: bool
) -> None:
    chosen = method if method is not None else _fitting(system)
    if chosen is None:
        report.tables.append(("Short run", [("method", "none in the catalogue treats this system yet")]))
        return
    check_fit(system, chosen)
    functions = assemble(system, chosen, layout if rows is None else dataclasses.replace(layout, m=len(rows)), rows)
    runs = []
    for refinement in (1, 2):
        h = launch.h / refinement
        end = launch.t0 + SHORT_RUN * launch.h
        run = simulate(
            system, chosen, launch.q0, launch.v0, launch.p0, (launch.t0, end), h, on_failure="return",
            redundant=redundant,
        )  # fmt: skip
        if not run.status:
            report.problems.append(f"a short run with {chosen.name} did not end well: {run.status.message}")
            return
        runs.append(run)
    span = f"{SHORT_RUN} steps of h = {launch.h:g}, and again with half of it"
    report.tables.append((f"What {chosen.name} keeps over {span}", _kept_rows(*runs)))
    if method is not None:
        report.tables.append((f"One step of {chosen.name}", engine_summary(functions, runs[0])))
    if explain:
        report.tables.append((f"How a step of {chosen.name} became code", pass_rows(runs[0])))


def _fitting(system: AbstractSystem) -> Method | None:
    for entry in METHODS.values():
        if all(part in entry.method.handles or part == "tangent" for part in system.parts):
            return entry.method
    return None


def _kept_rows(coarse: Trajectory, fine: Trajectory) -> list[show.Row]:
    rows = []
    changes = [{"energy": float(np.ptp(run.energy))} | invariant_changes(run) for run in (coarse, fine)]
    sizes = {"energy": float(np.max(np.abs(coarse.energy)))}
    sizes |= {name: float(np.max(np.abs(values), initial=0.0)) for name, values in coarse.invariants.items()}
    for name, change in changes[0].items():
        verdict = _judge(change, changes[1][name], sizes[name])
        rows.append((name, f"changes by {show.small(change)}: {verdict}"))
        known = isinstance(coarse.system, HamiltonianSystem | LagrangianSystem)
        if name == "energy" and verdict == NOT_KEPT and known:
            rows[-1:] = _energy_rows(coarse, fine, change)
    if np.shape(coarse.lam)[1]:
        rows.append(("max |g|", show.small(np.max(coarse.constraint))))
        rows.append(("max |g_q v + g_t|", show.small(np.max(coarse.hidden))))
    if np.size(coarse.impulse):
        rows.append(("smallest gap", show.small(np.min(coarse.gap))))
    return rows


def _judge(change: float, finer: float, size: float) -> str:
    """Kept to roundoff, kept up to the error of the method (it falls with h), or not kept."""
    if change <= KEPT * max(1.0, size):
        return "kept to roundoff"
    if finer > 0 and change / finer > 1.6:
        return f"kept up to the error of the method, order {np.log2(change / finer):.1f}"
    return NOT_KEPT


def _energy_rows(coarse: Trajectory, fine: Trajectory, change: float) -> list[show.Row]:
    """Energy that is not constant: what forces and a dependence on time do is no defect, nor what contacts take.

    Without contacts E - int P dt is constant, with the power P of `_power`; with them it falls at most.
    """
    balances = [run.energy - _work(run) for run in (coarse, fine)]
    left, finer = (float(np.ptp(balance)) for balance in balances)
    size = float(np.max(np.abs(coarse.energy)))
    active = float(np.ptp(_work(coarse))) > KEPT * max(1.0, size)
    if np.size(coarse.impulse):
        falls = float(balances[0][0] - balances[0][-1])
        grows, grows_finer = (float(max(np.max(np.diff(balance)), 0.0)) for balance in balances)
        verdict = "contacts take energy, they give none"
        if grows > KEPT * max(1.0, size):
            verdict = f"it grows by up to {show.small(grows)} in a step, {show.small(grows_finer)} with half of h"
        work = ", besides the work of forces" if active else ""
        return [("energy", f"changes by {show.small(change)}, falls by {show.small(falls)}{work}: {verdict}")]
    if not active:
        return [("energy", f"changes by {show.small(change)}: {NOT_KEPT}")]
    return [
        ("energy", f"changes by {show.small(change)}: forces, or what depends on time, do work"),
        ("energy less their work", f"changes by {show.small(left)}: {_judge(left, finer, size)}"),
    ]


def _work(run: Trajectory) -> np.ndarray:
    """What forces, reactions and a dependence on time have given to the energy up to each state, by trapezoids."""
    system = run.system
    assert system is not None
    power = jax.vmap(partial(_power, mechanics_of(system)))(run.t, run.q, run.v, run.p, run.lam, run.psi)
    power = np.asarray(power)
    return np.concatenate([[0.0], np.cumsum(0.5 * np.diff(run.t) * (power[1:] + power[:-1]))])


def _power(mechanics: Mechanics, t, q, v, p, lam, psi):
    """dE/dt: the power of forces and reactions, and H_t, which is -L_t."""
    system = mechanics.system
    if isinstance(system, HamiltonianSystem):
        by_time = jax.grad(lambda t: system.hamiltonian(t, q, p))(t)
    else:
        assert isinstance(system, LagrangianSystem)
        by_time = -jax.grad(lambda t: system.lagrangian(t, q, v))(t)
    forces = mechanics.external_force(t, q, v) - mechanics.reactions(t, q, v, p, lam, psi)
    return by_time + forces @ v


def engine_summary(functions: StepFunctions, run: Trajectory) -> list[show.Row]:
    """What one step costs: unknowns and equations of the method, and what the engine made of them."""
    stats = run.stats
    rows = [
        ("unknowns", f"{len(functions.unknowns)}: {_grouped(functions.unknowns)}"),
        ("equations", f"{len(functions.equations)}: {_grouped(functions.equations)}"),
        ("engine", str(stats["engine"])),
    ]
    if stats["engine"] == "native":
        found = " + ".join(str(count) for count in stats["newton_unknowns"]) or "none"
        rows += [
            ("non-zeros of the Jacobian", f"{stats['nonzeros']} of {stats['unknowns'] ** 2}"),
            ("eliminated", f"{stats['substituted']} substituted, {stats['solved_directly']} solved directly"),
            ("left to Newton", found),
            ("operations", f"{stats['operations_per_iteration']} an iteration, {stats['operations_per_step']} a step"),
            ("compile time", f"{stats['compile_seconds']:.2f} s{' (from the cache)' if stats['from_cache'] else ''}"),
        ]
    else:
        rows.append(("why not native", str(stats.get("engine_reason", ""))))
    return [
        *rows,
        ("Newton iterations", f"{stats['newton_iterations'] / max(1, stats['steps']):.2f} a step"),
    ]


def pass_rows(run: Trajectory) -> list[show.Row]:
    """What every pass of the engine did: sizes before and after it, and its time."""
    passes = run.stats.get("passes")
    if not passes:
        reason = run.stats.get("engine_reason", "it is taken by XLA or evaluated without code of its own")
        return [("passes", f"none: the engine {run.stats['engine']!r} compiles no step itself ({reason})")]
    kinds = list(dict.fromkeys(one["code"] for one in passes))
    rows = [] if len(kinds) == 1 else [("kinds of code tried", ", ".join(kinds))]
    for one in passes:
        name = one["pass"] if len(kinds) == 1 else f"{one['code']}: {one['pass']}"
        before, after = one["before"], one["after"]
        sizes = [
            f"{what} {before[what]} -> {count}" if before.get(what, count) != count else f"{what} {count}"
            for what, count in after.items()
        ]
        outcome = [f"given up: {one['gave_up']}"] if "gave_up" in one else sizes
        rows.append((name, ", ".join([*outcome, f"{1e3 * one['seconds']:.1f} ms"])))
    return rows


def _grouped(names: tuple[str, ...]) -> str:
    """V0[0], V0[1], L0[0] as V0 (2), L0 (1)."""
    counts: dict[str, int] = {}
    for name in names:
        group = name.rpartition("[")[0] or name
        counts[group] = counts.get(group, 0) + 1
    return ", ".join(f"{group} ({count})" for group, count in counts.items())
