"""`dalembert simulate`: run a system, print what was kept, write files and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..errors import StepFailure
from ..plots import FIGURE_TYPES, FILM_TYPES, animate, checked_target, plot
from ..simulation import simulate
from ..storage.formats import SUFFIXES
from ..trajectory import Trajectory, has_energy
from . import show
from .models import launch_from, method_from, method_names, system_from, system_names
from .options import P0, Q0, T0, V0, Engine, Parameters, Project, Redundant, StepSize, TEnd

SYSTEM_HELP = (
    "A name of the gallery (see `dalembert list`), or path/to/model.py:Class. "
    "A model file is a Python program: it is executed with your rights. Run only files you trust."
)
System = Annotated[str, typer.Argument(metavar="NAME|FILE.py:CLASS", help=SYSTEM_HELP, autocompletion=system_names)]
MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        help="The method: a name of `dalembert list`, or methods.py:Class.",
        autocompletion=method_names,
    ),
]


def simulate_command(
    system: System,
    method: MethodName = "rattle",
    h: StepSize = None,
    t_end: TEnd = None,
    t0: T0 = 0.0,
    q0: Q0 = None,
    v0: V0 = None,
    p0: P0 = None,
    param: Parameters = None,
    save_every: Annotated[int, typer.Option("--save-every", help="Keep every k-th state.")] = 1,
    project: Project = False,
    redundant: Redundant = "refuse",
    engine: Engine = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", help="Save the run (.nc, .zarr, .npz; as a table: .csv, .parquet).")
    ] = None,
    plot_path: Annotated[Path | None, typer.Option("--plot", help="Save a figure (.png, .pdf, .svg, .jpg).")] = None,
    film_path: Annotated[
        Path | None, typer.Option("--animate", help="Save a film (.gif, or .mp4 with ffmpeg).")
    ] = None,
    progress: Annotated[bool, typer.Option("--progress", help="Show a progress bar.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", help="Write the run to this folder; `dalembert resume` goes on.")
    ] = None,
    checkpoint_every: Annotated[int | None, typer.Option("--checkpoint-every", help="Steps between them.")] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Take a step that fails in halves.")] = False,
    as_json: show.Json = False,
) -> None:
    """Simulate a system and say what was kept.

    A failed step gives exit status 1; what was computed up to there is printed and saved all the same.
    """
    chosen = method_from(method)
    model = system_from(system, param or [])
    launch = launch_from(model, q0, v0, p0, t0, t_end, h)
    check_targets(out, plot_path, film_path)
    run = simulate(
        model, chosen, launch.q0, launch.v0, launch.p0, (launch.t0, launch.t_end), launch.h,
        save_every=save_every, on_failure="return", progress=progress, project=project,
        redundant=redundant, engine=engine, checkpoint=checkpoint, checkpoint_every=checkpoint_every, retry=retry,
    )  # fmt: skip
    written: dict[str, Path] = {}
    if out is not None:
        written["run"] = run.save(out)
    if plot_path is not None:
        plot(run, plot_path)
        written["figure"] = plot_path
    if film_path is not None:
        written["film"] = animate(run, film_path)
    tell(run, type(model).__name__, chosen.name, written, as_json)
    if not run.status:
        raise StepFailure(run.status.message, run)


def tell(run: Trajectory, system: str, method: str, written: dict[str, Path], as_json: bool) -> None:
    """Print the numbers of a run, and which files were written."""
    if as_json:
        show.print_json({"system": system, "method": method, **summary(run), "files": written})
        return
    console = show.console()
    console.print(show.facts(f"{system} with {method}", summary_rows(run)))
    for what, path in written.items():
        console.print(f"{what:9s}{path}", soft_wrap=True)


def check_targets(out: Path | None, figure: Path | None, film: Path | None) -> None:
    """Refuse a file that cannot be written before the work is done, not after it."""
    for path, types, what in (
        (out, SUFFIXES, "a run"),
        (figure, FIGURE_TYPES, "a figure"),
        (film, FILM_TYPES, "a film"),
    ):
        if path is not None:
            checked_target(path, types, what)


def summary_rows(run: Trajectory) -> list[show.Row]:
    """The numbers by which a run is judged."""
    stats, t = run.stats, np.asarray(run.t)
    seconds = float(stats["wall_seconds"])
    speed = f"{stats['steps'] / seconds:,.0f} steps/s" if seconds > 0 and stats["steps"] else "-"
    rows = [
        ("ended", str(run.status) if run.status else f"stopped after {run.status.step:,} steps"),
        ("interval", f"t = {t[0]:g} to {t[-1]:g}, h = {run.provenance['h']:g}"),
        ("steps", f"{stats['steps']:,} ({len(t):,} states saved)"),
        ("engine", f"{stats['engine']}, compiled in {stats['compile_seconds']:.2f} s"),
        ("speed", f"{speed} ({seconds:.3g} s)"),
        ("Newton iterations", f"{stats['newton_iterations'] / max(1, stats['steps']):.2f} a step"),
    ]
    if has_energy(run):
        energy = np.asarray(run.energy)
        change = show.small(np.max(np.abs(energy - energy[0])))
        rows.append(("energy", f"E(0) = {energy[0]:.6g}, max |E - E(0)| = {change}"))
    if np.shape(run.lam)[1]:
        rows.append(("max |g|", show.small(np.max(run.constraint))))
        rows.append(("max |g_q v + g_t|", show.small(np.max(run.hidden))))
    if np.size(run.impulse):
        rows.append(("smallest gap", show.small(np.min(run.gap))))
    if "events" in stats:
        rows.append(("events", f"{stats['events']:,}"))
    rows += [("warning", text) for text in run.warnings]
    rows += [(f"drift of {name}", show.small(change)) for name, change in invariant_changes(run).items()]
    return rows


def summary(run: Trajectory) -> dict[str, Any]:
    """The numbers of `summary_rows`, for programs."""
    stats, t = run.stats, np.asarray(run.t)
    found: dict[str, Any] = {
        "status": {"ok": bool(run.status), "code": run.status.code, "message": run.status.message},
        "t": [t[0], t[-1]],
        "h": run.provenance["h"],
        "states": len(t),
        "q": run.q[-1],
        "v": run.v[-1],
        **{name: stats[name] for name in ("steps", "engine", "compile_seconds", "wall_seconds", "newton_iterations")},
        "parameters": run.provenance["parameters"],
        "warnings": list(run.warnings),
        "invariant_changes": invariant_changes(run),
    }
    if has_energy(run):
        energy = np.asarray(run.energy)
        found |= {"energy": energy[0], "energy_change": np.max(np.abs(energy - energy[0]))}
    if np.shape(run.lam)[1]:
        found |= {"constraint": np.max(run.constraint), "hidden": np.max(run.hidden)}
    if np.size(run.impulse):
        found["smallest_gap"] = np.min(run.gap)
    return found | ({"events": stats["events"]} if "events" in stats else {})


def invariant_changes(run: Trajectory) -> dict[str, float]:
    """The largest change of each of the system's invariants over the run."""
    changes = {}
    for name, values in run.invariants.items():
        values = np.asarray(values)
        changes[name] = float(np.max(np.abs(values - values[:1]), initial=0.0))
    return changes
