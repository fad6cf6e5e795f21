"""What notebooks show of systems, methods and runs: the key numbers, and of a run a small picture.

The functions have the signature of `_repr_html_`; the package attaches them. Names, parameters and documentation are
the user's, so every text is escaped.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterable

import numpy as np

from ..errors import InputError
from ..method import Method, keeps, treats
from ..problem import AbstractSystem, HamiltonianSystem, OverdeterminedDAE, parameter_record
from ..trajectory import Trajectory, check_single, has_energy
from .figures import draw_path, moving_geometry
from .series import draw_coordinates, draw_energy
from .style import style

Rows = Iterable[tuple[str, str]]
#: Longer values are cut: a notebook is no file.
LONGEST_VALUE = 200
PIXELS_PER_INCH = 80


def system_html(system: AbstractSystem) -> str:
    """Class, first paragraph of its documentation, how it is given, parameters, optional parts."""
    if isinstance(system, OverdeterminedDAE):
        given = "an overdetermined DAE y' = v(y, z), z' = f(y, z) + r(y, z, psi)"
    else:
        given = "a Hamiltonian H(t, q, p)" if isinstance(system, HamiltonianSystem) else "a Lagrangian L(t, q, v)"
    parameters = ", ".join(f"{name} = {value}" for name, value in parameter_record(system).items())
    rows = [("given by", given), ("parameters", parameters or "none"), ("parts", ", ".join(system.parts) or "none")]
    return _page(type(system).__name__, rows, about=_first_paragraph(type(system)))


def method_html(method: Method) -> str:
    """Name, first paragraph of its documentation, order, what it treats and keeps."""
    rows = [("order", str(method.order)), ("treats", treats(method)), ("keeps", keeps(method.claims) or "-")]
    return _page(method.name, rows, about=_first_paragraph(type(method)))


def trajectory_html(run: Trajectory) -> str:
    """System and method, how the run ended, what was kept, and its path and energy error as a picture."""
    try:
        check_single(run, "show")
    except InputError as reason:  # traced, or a batch: no numbers to show
        return _page("Trajectory", [("contents", f"q of shape {np.shape(run.q)}"), ("note", str(reason))])
    t = np.asarray(run.t)
    rows = [
        ("ended", str(run.status)),
        ("interval", f"t = {t[0]:g} to {t[-1]:g}, h = {_sizes(run)}"),
        ("states", f"{len(t):,} of {np.shape(run.q)[1]} coordinates"),
        ("engine", f"{run.stats['engine']}, {float(run.stats['wall_seconds']):.3g} s"),
        *_kept(run),
        *(("warning", text) for text in run.warnings),
    ]
    title = f"{run.provenance['system']} with {run.provenance['method']}"
    return _page(title, rows, picture=_picture(run))


def _sizes(run: Trajectory) -> str:
    """The size of the steps, or the smallest and the largest."""
    sizes = np.asarray(run.provenance["h"])
    return f"{sizes:g}" if sizes.ndim == 0 else f"{np.min(sizes):g} to {np.max(sizes):g}"


def _kept(run: Trajectory) -> Rows:
    if has_energy(run):
        energy = np.asarray(run.energy)
        yield "energy", f"E(0) = {energy[0]:.6g}, max |E - E(0)| = {np.max(np.abs(energy - energy[0])):.1e}"
    if np.shape(run.lam)[1]:
        yield "max |g|", f"{np.max(run.constraint):.1e}"
        yield "max |g_q v + g_t|", f"{np.max(run.hidden):.1e}"
    if np.size(run.impulse) and run.system is not None:
        yield "smallest gap", f"{np.min(run.gap):.1e}"


def _picture(run: Trajectory) -> bytes:
    """A PNG: where it went, and how the energy changed."""
    from matplotlib.figure import Figure

    with style():
        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        grid = figure.add_gridspec(1, 2)
        if run.system is None:
            draw_coordinates(figure.add_subplot(grid[0]), run)
        else:
            draw_path(figure, grid[0], run, moving_geometry(run, None))
        if has_energy(run):
            draw_energy(figure.add_subplot(grid[1]), run)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=PIXELS_PER_INCH)
    return buffer.getvalue()


def _first_paragraph(kind: type) -> str:
    """Its first paragraph; a formula that follows it is left out, and so is the mark before it."""
    text = " ".join((kind.__doc__ or "").strip().split("\n\n")[0].split())
    return text.removesuffix("::") + "." if text.endswith("::") else text


def _page(title: str, rows: Rows, about: str = "", picture: bytes | None = None) -> str:
    parts = [f"<strong>{html.escape(title)}</strong>"]
    if about:
        parts.append(f"<div>{html.escape(_cut(about))}</div>")
    cells = "".join(
        f'<tr><td style="text-align:left">{html.escape(name)}</td>'
        f'<td style="text-align:left">{html.escape(_cut(value))}</td></tr>'
        for name, value in rows
    )
    parts.append(f"<table>{cells}</table>")
    if picture is not None:
        data = base64.b64encode(picture).decode("ascii")
        parts.append(f'<img alt="path and energy error" style="max-width:100%" src="data:image/png;base64,{data}">')
    return f"<div>{''.join(parts)}</div>"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 4] + " ..."
