"""The pictures of the documentation: `python docs/make_pictures.py [NAME ...]` writes them to docs/pictures.

Names: pendulum, necklace, plans, engine, convergence, gallery, tutorials; all of them by default. (`make bench` draws
compensated_summation.png from what it measures.)
"""

from __future__ import annotations

import os
import pathlib
import re
import runpy
import sys
import tempfile
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import page_code
from PIL import Image

import dalembert as da
from dalembert.diagnostics import end_errors
from dalembert.engine import Function
from dalembert.engine.step.step_program import build_step_program
from dalembert.gallery import SYSTEMS, Chain, DoublePendulum
from dalembert.plots import plot_convergence, plot_path
from dalembert.plots.style import GREY, PALETTE, new_figure, save_figure, style
from dalembert.problem import State, prepared
from dalembert.stepping import Layout, assemble, flat_parameters

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"


# -- the engine: a Jacobian before and after elimination


@dataclass(frozen=True)
class Elimination:
    """The Jacobian of a step with everything unknown, and what is left of it for Newton."""

    before: np.ndarray
    groups: dict[str, int]  # the groups of unknowns and their sizes, in order
    after: np.ndarray
    statistics: dict


def elimination_of(system, q0, v0, h: float) -> Elimination:
    """RATTLE on a system; the numbers are those at a state near the start, so that nothing vanishes by chance."""
    system = prepared(system)
    start = da.consistent(system, q0, v0)
    layout = Layout(len(start.q), len(start.lam))
    functions = assemble(system, da.Rattle(), layout, None)
    empty = np.zeros(0)
    state = np.asarray(layout.flatten(State(start.q, start.p, start.v, start.lam, empty)))
    parameters = np.asarray(flat_parameters(system))
    step = build_step_program(functions, state, 0.0, h, parameters)
    random = np.random.default_rng(0)
    x = random.standard_normal(functions.size)
    near = state + 0.1 * random.standard_normal(len(state))
    before = Function(functions.residual)(x, 0.0, h, near, parameters)[1].toarray()
    unknowns = [j for block in step.reduced.blocks for j in sorted(block.unknowns)]
    equations = [i for block in step.reduced.blocks for i in sorted(block.equations)]
    groups: dict[str, int] = {}
    for name in functions.unknowns:
        group = name.partition("[")[0]
        groups[group] = groups.get(group, 0) + 1
    after = _schur(before, equations, unknowns)
    return Elimination(before, groups, after, step.statistics)


def _schur(matrix: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    """What is left of a matrix in these rows and columns when all others have been eliminated."""
    other_rows = np.setdiff1d(np.arange(len(matrix)), rows)
    other_columns = np.setdiff1d(np.arange(len(matrix)), columns)
    inner = np.linalg.solve(matrix[np.ix_(other_rows, other_columns)], matrix[np.ix_(other_rows, columns)])
    left = matrix[np.ix_(rows, columns)] - matrix[np.ix_(rows, other_columns)] @ inner
    return np.where(np.abs(left) > 1e-11 * np.max(np.abs(left)), left, 0.0)


def draw_elimination(found: Elimination, path: pathlib.Path) -> None:
    """Before (left) and after (right), each non-zero a square; the small frame is the right one to scale."""
    size, left = len(found.before), len(found.after)
    with style():
        figure = new_figure(11.0, 5.6, path)
        before, after = figure.subplots(1, 2, width_ratios=(1.9, 1.0))
        _spy(before, found.before)
        edges = np.cumsum([0, *found.groups.values()])
        for edge in edges[1:-1]:
            before.axvline(edge - 0.5, color="#B8C0C6", linewidth=0.6, zorder=0)
        middles = (edges[:-1] + edges[1:] - 1) / 2
        before.set_xticks(middles, [_symbol(name) for name in found.groups], fontsize=12)
        before.set_yticks([])
        before.set_xlabel("unknowns", labelpad=6)
        before.set_ylabel("equations")
        count = int(np.count_nonzero(found.before))
        before.set_title(f"before: {size} unknowns, {count} non-zeros", loc="left")
        frame = {"linewidth": 1.6, "edgecolor": PALETTE[1], "facecolor": "none"}
        _rectangle(before, size - left - 0.5, -0.5, left, frame)
        before.text(size - left - 0.02 * size, left / 2 - 0.5, "after, to scale", color=PALETTE[1], ha="right",
                    va="center", fontsize=12)  # fmt: skip
        _spy(after, found.after)
        _rectangle(after, -0.5, -0.5, left, frame)
        after.set_xticks([])
        after.set_yticks([])
        after.set_title(f"after: {left} for Newton, {int(np.count_nonzero(found.after))} non-zeros", loc="left")
        s = found.statistics
        after.set_xlabel(
            f"{s['substituted']} unknowns substituted, {s['solved_directly']} solved directly;\n"
            f"{s['operations_per_iteration']} operations an iteration",
            color=GREY, fontsize=12, labelpad=8,
        )  # fmt: skip
        save_figure(figure, path)


def _spy(axes, matrix: np.ndarray) -> None:
    rows, columns = np.nonzero(matrix)
    size = len(matrix)
    axes.set_xlim(-0.5, size - 0.5)
    axes.set_ylim(size - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color("#B8C0C6")
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    squares = [Rectangle((j - 0.45, i - 0.45), 0.9, 0.9) for i, j in zip(rows, columns, strict=True)]
    width = 0.7 if size > 100 else 0.0
    axes.add_collection(PatchCollection(squares, facecolor=PALETTE[0], edgecolor=PALETTE[0], linewidth=width))


def _rectangle(axes, x: float, y: float, size: float, options: dict) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), size, size, clip_on=False, zorder=5, **options))


def _symbol(name: str) -> str:
    known = {"V0": "V_0", "V1": "V_1", "p_half": r"\tilde p", "q1": "q_1", "L0": r"\Lambda_0", "p1": "p_1",
             "v1": "v_1", "L1": r"\Lambda_1"}  # fmt: skip
    return f"${known.get(name, name)}$"


def engine_pictures() -> None:
    """Two links and ten links."""
    start = DoublePendulum().start()
    draw_elimination(elimination_of(DoublePendulum(), start.q0, start.v0, 0.01), PICTURES / "jacobian_two_links.png")
    reach = np.arange(1, 11)[:, None]
    q0 = reach * np.array([np.sin(0.5), 0.0, -np.cos(0.5)])
    v0 = reach / 10 * np.array([0.0, 1.0, 0.0])
    found = elimination_of(Chain(links=10), q0.ravel(), v0.ravel(), 0.002)
    draw_elimination(found, PICTURES / "jacobian_ten_links.png")


# -- the others


def pendulum_picture() -> None:
    """The first picture of the front page, by the code beside it."""
    code = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    here = pathlib.Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
            (PICTURES / "pendulum.png").write_bytes(pathlib.Path("pendulum.png").read_bytes())
        finally:
            os.chdir(here)


def example_pictures(*names: str) -> None:
    """What examples of these names write."""
    here, arguments = pathlib.Path.cwd(), sys.argv
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for name in names:
                plt.close("all")  # each begins with a figure of its own
                sys.argv = [f"{name}.py"]
                runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
                (PICTURES / f"{name}.png").write_bytes(pathlib.Path(f"{name}.png").read_bytes())
        finally:
            sys.argv = arguments
            os.chdir(here)


def convergence_picture() -> None:
    """RATTLE and SHAKE on the spatial double pendulum, errors at t = 1."""
    system = DoublePendulum()
    start = system.start()
    hs = 1 / np.array([50, 100, 200, 400, 800])
    errors = {}
    for method in (da.Rattle(), da.Shake()):
        found = end_errors(system, method, start.q0, start.v0, (0.0, 1.0), hs, quantities=("q", "p", "lam")).errors
        name = type(method).__name__
        errors |= {f"{name} $q$": found["q"], f"{name} $p$": found["p"], f"{name} $\\lambda$": found["lam"]}
    plot_convergence(hs, errors, PICTURES / "convergence.png", order=2)


def gallery_pictures() -> None:
    """The path of every system of the gallery from its default start."""
    for name, kind in SYSTEMS.items():
        system = kind()
        start = system.start()
        method = da.gauss_spark(2) if system.provides("nonholonomic") else da.Rattle()
        h = start.h
        if isinstance(system, da.OverdeterminedDAE):
            method = da.Composition(da.SymplecticEuler(), "suzuki4")
        elif system.provides("gap"):  # of order 1: with smaller steps corners look like corners
            method, h = da.MoreauJean(), start.h / 20
        run = da.simulate(system, method, start.q0, start.v0, t=(0.0, start.t_end), h=h)
        path = PICTURES / f"gallery_{name}.png"
        plot_path(run, path).savefig(path, dpi=110, bbox_inches="tight")


def tutorial_pictures() -> None:
    """The pictures that the code of a page draws and the page shows under the same name."""
    here = pathlib.Path.cwd()
    for name in page_code.PAGES:
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        shown = [file for file in re.findall(r"\]\(pictures/([^)]+)\)", text) if f'"{file}"' in text]
        if not shown or name in ("index", "start"):  # they show the pictures of the front page
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                os.chdir(folder)
                page_code.run_page(text, name)
                for file in shown:
                    with Image.open(file) as drawn:  # 128 colours are a third of the bytes
                        drawn.convert("RGB").quantize(128).save(PICTURES / file, optimize=True)
            finally:
                os.chdir(here)


MAKERS = {
    "pendulum": pendulum_picture,
    "necklace": lambda: example_pictures("necklace"),
    "plans": lambda: example_pictures("parking", "satellite", "falling_cat", "double_swing_up", "hopper", "walker"),
    "engine": engine_pictures,
    "convergence": convergence_picture,
    "gallery": gallery_pictures,
    "tutorials": tutorial_pictures,
}


def main(names: list[str]) -> None:
    """Draw the pictures named, or all."""
    unknown = set(names) - set(MAKERS)
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; expected some of {', '.join(MAKERS)}")
    for name in names or MAKERS:
        MAKERS[name]()
        print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
