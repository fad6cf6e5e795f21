"""`dalembert converge`: errors at a fixed end time over halved step sizes, and the order they show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import jax.numpy as jnp
import numpy as np
import typer

from ..diagnostics import EndErrors, end_errors, observed_order, reference_solution
from ..errors import InputError
from ..gallery import Ready
from ..method import EventCapturing, lobatto_iiia
from ..plots import FIGURE_TYPES, checked_target, plot_convergence
from ..problem import AbstractSystem, State
from ..simulation import simulate
from ..stepping import consistent
from . import show
from .models import Launch, launch_from, method_from, system_from
from .options import P0, Q0, T0, V0, Parameters, TEnd
from .simulating import MethodName, System

#: The end time where none is given: later, errors of chaotic systems say nothing about the method.
SHORT_END = 2.0


def converge_command(
    system: System,
    method: MethodName = "rattle",
    h0: Annotated[float | None, typer.Option("--h0", help="The largest step size.")] = None,
    levels: Annotated[int, typer.Option("--levels", help="How many step sizes, each half the one before.")] = 5,
    t_end: TEnd = None,
    t0: T0 = 0.0,
    q0: Q0 = None,
    v0: V0 = None,
    p0: P0 = None,
    param: Parameters = None,
    plot_path: Annotated[
        Path | None, typer.Option("--out", "--plot", help="Save a figure (.png, .pdf, .svg, .jpg).")
    ] = None,
    as_json: show.Json = False,
) -> None:
    """Measure the order of convergence of a method on a system.

    The errors are those at the end time, against the exact solution where the gallery knows it, else against
    a reference by another method near roundoff (Dormand-Prince of order 8 on the reduced equations; event capturing
    of order 6 where there are contacts).
    """
    if not 2 <= levels <= 16:
        raise InputError(f"--levels must lie between 2 and 16, got {levels}.")
    if plot_path is not None:
        checked_target(plot_path, FIGURE_TYPES, "a figure")
    chosen = method_from(method)
    model = system_from(system, param or [])
    launch = launch_from(model, q0, v0, p0, t0, t_end)
    if t_end is None:
        launch = launch_from(model, q0, v0, p0, t0, min(launch.t_end, t0 + SHORT_END))
    span = launch.t_end - launch.t0
    if h0 is None:
        h0 = span / max(1, round(span / (4 * launch.h)))
    v_start = launch.v0 if launch.v0 is not None else consistent(model, launch.q0, None, t0, p0=launch.p0).v
    reference, kind = reference_for(model, launch, v_start)
    quantities = ("q", "p", "lam") if model.provides("holonomic") else ("q", "p")
    hs = h0 / 2.0 ** np.arange(levels)
    interval = (launch.t0, launch.t_end)
    errors = end_errors(model, chosen, launch.q0, v_start, interval, hs, reference, quantities=quantities)
    if plot_path is not None:
        named = {f"${LETTERS[name]}$": errors.errors[name] for name in quantities}
        plot_convergence(errors.hs, named, plot_path, order=chosen.order)
    claims = {"q": chosen.order, "p": chosen.order, "lam": chosen.claims.multiplier_order}
    if as_json:
        show.print_json({
            "system": type(model).__name__, "method": chosen.name, "t": launch.t_end, "against": kind,
            "h": errors.hs, "steps": errors.steps, "errors": errors.errors,
            "orders": {name: slope_of(errors, name) for name in quantities},
            "claimed": {name: claims[name] for name in quantities}, "files": {"figure": plot_path},
        })  # fmt: skip
        return
    title = f"{type(model).__name__} with {chosen.name}: errors at t = {launch.t_end:g} against {kind}"
    console = show.console()
    console.print(convergence_table(title, errors))
    for name in quantities:
        claim = f" (claimed: {claims[name]})" if claims[name] is not None else ""
        console.print(f"observed order of {name:4s} {fitted_order(errors, name)}{claim}")
    if plot_path is not None:
        console.print(f"figure   {plot_path}", soft_wrap=True)


LETTERS = {"q": "q", "p": "p", "v": "v", "lam": r"\lambda"}


def reference_for(system: AbstractSystem, launch: Launch, v0) -> tuple[State, str]:
    """The state at the end: exact where it is known, else computed tightly; and what to call it."""
    if isinstance(system, Ready) and launch.t0 == 0.0:
        exact = system.exact(np.array([launch.t_end]), launch.q0, np.asarray(v0))
        if exact is not None:
            return exact.row(-1), "the exact solution"
    if system.provides("gap"):
        return _across_impacts(system, launch, v0), "event capturing of order 6"
    return reference_solution(system, launch.q0, v0, (launch.t0, launch.t_end)), "a tight reference solution"


def _across_impacts(system: AbstractSystem, launch: Launch, v0) -> State:
    """The end of a motion with contacts, with steps not larger than half the usual one."""
    span = launch.t_end - launch.t0
    h = span / max(1, round(2 * span / launch.h))
    run = simulate(system, EventCapturing(lobatto_iiia(4)), launch.q0, v0, t=(launch.t0, launch.t_end), h=h)
    return State(*(jnp.asarray(part[-1]) for part in (run.q, run.p, run.v, run.lam, run.psi)))


def convergence_table(title: str, found: EndErrors):
    """Step sizes, errors, and the order between neighbours."""
    header = ["h", "steps"]
    for name in found.errors:
        header += [f"error of {name}", "order"]
    rows = []
    for k, h in enumerate(found.hs):
        row = [f"{h:.4g}", f"{found.steps[k]:,}"]
        for errors in found.errors.values():
            row += [
                show.small(errors[k]) if np.isfinite(errors[k]) else "failed",
                _local_order(errors, found.hs, k),
            ]
        rows.append(row)
    return show.grid(title, header, rows, right=range(len(header)))


def _local_order(errors: np.ndarray, hs: np.ndarray, k: int) -> str:
    if k == 0 or not (errors[k] > 0 and errors[k - 1] > 0):
        return ""
    return f"{np.log(errors[k - 1] / errors[k]) / np.log(hs[k - 1] / hs[k]):.2f}"


def fitted_order(found: EndErrors, name: str) -> str:
    """The slope of the fit, or why there is none."""
    slope = slope_of(found, name)
    return "not measurable: too few errors above roundoff" if slope is None else f"{slope:.2f}"


def slope_of(found: EndErrors, name: str) -> float | None:
    """The slope of the fit; None where too few errors are above roundoff."""
    try:
        return observed_order(found.hs, found.errors[name], min_points=2).slope
    except InputError:
        return None
