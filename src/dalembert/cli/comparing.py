"""`dalembert compare`: methods beside each other, and beside programs of others, on one problem."""

from __future__ import annotations

import pathlib
from typing import Annotated

import numpy as np
import typer

from ..arguments import check_writable
from ..diagnostics import Curve, Recommendation, compare, energy_errors, foreign_solvers, recommend
from ..errors import InputError
from ..method import Method
from ..plots import plot_energy_errors, plot_work_precision
from ..problem import AbstractSystem
from ..stepping import check_fit, consistent
from . import show
from .converging import SHORT_END, reference_for
from .models import launch_from, method_from, system_from
from .options import P0, Q0, T0, V0, Parameters, StepSize, TEnd
from .simulating import System

#: Where no methods are named: so many of those that reach this error in the least time.
AUTOMATIC, AUTOMATIC_METHODS, AUTOMATIC_TOLERANCE, AUTOMATIC_SECONDS = "auto", 3, 1e-6, 5.0


def compare_command(
    system: System,
    methods: Annotated[
        str,
        typer.Option(
            "--methods",
            "-m",
            metavar="A,B,...",
            help="Methods by name, see `dalembert list`; or auto: the three that reach 1e-6 soonest.",
        ),
    ] = AUTOMATIC,
    h: StepSize = None,
    levels: Annotated[int, typer.Option("--levels", help="How many step sizes, each half the one before.")] = 5,
    t_end: TEnd = None,
    t0: T0 = 0.0,
    q0: Q0 = None,
    v0: V0 = None,
    p0: P0 = None,
    param: Parameters = None,
    foreign: Annotated[
        bool, typer.Option("--foreign/--no-foreign", help="Also run scipy, and scipy_dae and casadi where installed.")
    ] = True,
    out: Annotated[
        pathlib.Path, typer.Option("--out", help="The folder for the two figures; it is made if needed.")
    ] = pathlib.Path(),
    as_json: show.Json = False,
) -> None:
    """Compare methods on a system: work against precision, and the drift of the energy.

    Errors are those at the end, at most 2 after the start unless --t-end says otherwise; --h is the largest step size,
    four times the usual one by default. The energy is followed to the usual end of the system with the usual step.
    """
    if not 1 <= levels <= 16:
        raise InputError(f"--levels must lie between 1 and 16, got {levels}.")
    _prepare_folder(out)
    model = system_from(system, param or [])
    automatic = methods.strip().lower() in ("", AUTOMATIC)
    chosen = {} if automatic else methods_from(model, methods)
    usual = launch_from(model, q0, v0, p0, t0, t_end)
    end = usual.t_end if t_end is not None else min(usual.t_end, t0 + SHORT_END)
    start = consistent(model, usual.q0, usual.v0, t0, p0=usual.p0)  # refuses values of the wrong size
    v_start = usual.v0 if usual.v0 is not None else start.v
    console = show.console(quiet=as_json)
    if automatic:
        choice = recommend(model, AUTOMATIC_TOLERANCE, usual.q0, v_start, (t0, end), seconds=AUTOMATIC_SECONDS)
        chosen = _quickest(choice, console)
    coarsest = h if h is not None else _dividing(4 * usual.h, end - t0)
    programs = foreign_solvers() if foreign and not model.provides("gap") else ()
    reference, kind = reference_for(model, launch_from(model, q0, v0, p0, t0, end), v_start)
    hs = coarsest / 2.0 ** np.arange(levels)
    curves = compare(model, chosen, usual.q0, v_start, (t0, end), hs, reference, foreign=programs)
    times, energies = energy_errors(
        model, chosen, usual.q0, v_start, (t0, usual.t_end), _dividing(usual.h, usual.t_end - t0), foreign=programs
    )
    console.print(comparison_table(f"{type(model).__name__} to t = {end:g}, errors against {kind}", curves))
    if foreign and model.provides("gap"):
        console.print("programs of others are left out: they integrate smooth motions only.")
    work, energy = (out / f"{type(model).__name__.lower()}_{what}.png" for what in ("work_precision", "energy"))
    plot_work_precision(curves, work)
    plot_energy_errors(times, energies, energy)
    if as_json:
        measured = [_in_json(curve) for curve in curves]
        show.print_json({"system": type(model).__name__, "t": end, "against": kind, "methods": measured,
                         "files": {"work": work, "energy": energy}})  # fmt: skip
    console.print(f"work     {work}\nenergy   {energy}", soft_wrap=True)


def _prepare_folder(out: pathlib.Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot save figures to {out}: {error.strerror or error}.") from error
    check_writable(out, "cannot save figures")


def _quickest(choice: Recommendation, console) -> dict[str, Method]:
    """The methods that reach the tolerance soonest; the others are named with the reason."""
    fitting = [found for found in choice.candidates if found.steps]
    console.print(f"recommended: {repr(choice).splitlines()[0]}", soft_wrap=True, highlight=False)
    for found in choice.candidates:
        if not found.steps:
            console.print(f"left out: {found.name}, which {found.note}", soft_wrap=True, highlight=False)
    return {found.name: found.method for found in fitting[:AUTOMATIC_METHODS]}


def _in_json(curve: Curve) -> dict:
    return {
        "name": curve.name, "settings": curve.settings, "errors": curve.errors, "seconds": curve.seconds,
        "constraints": curve.violations, "energy": curve.drifts,
    }  # fmt: skip


def methods_from(system: AbstractSystem, names: str) -> dict[str, Method]:
    """The methods that are named; refused where one cannot treat the system."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise InputError(f"--methods must be names separated by commas, such as rattle,galerkin-2; got {names!r}.")
    twice = [name for k, name in enumerate(wanted) if name in wanted[:k]]
    if twice:
        raise InputError(f"--methods names {twice[0]!r} twice.")
    chosen = {name: method_from(name) for name in wanted}
    for method in chosen.values():
        check_fit(system, method)
    return chosen


def _dividing(h: float, span: float) -> float:
    """The step size nearest to h that divides the interval."""
    return span / max(1, round(span / h))


def comparison_table(title: str, curves: list[Curve]):
    """A row for each run: what was asked for, the error of q at the end, milliseconds, and the largest violation of a
    constraint and |E - E(0)| over the run."""
    rows = []
    for curve in curves:
        for k, setting in enumerate(curve.settings):
            asked = f"tol {setting:g}" if curve.is_foreign else f"{setting:.3g}"
            if np.isfinite(curve.errors[k]):
                found = [show.small(values[k]) for values in (curve.errors, curve.violations, curve.drifts)]
                rows.append(
                    [curve.name if k == 0 else "", asked, found[0], f"{1e3 * curve.seconds[k]:.3g}", *found[1:]]
                )
            else:
                rows.append([curve.name if k == 0 else "", asked, "failed", "", "", ""])
    header = ["method", "h or tol", "error", "ms", "constraints", "energy"]
    return show.grid(title, header, rows, right=(2, 3, 4, 5), whole=(0, 1))
