"""One look for all figures, where they are drawn and how they are saved.

Matplotlib is imported inside the functions: it takes half a second, and most runs have no figure.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import pathlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..arguments import check_writable
from ..arguments import path as checked_path
from ..errors import InputError
from ..notebook import display, in_notebook

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Colours that colour-blind readers tell apart (Okabe and Ito), without the yellow that white paper swallows.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#5F6B73"
FIGURE_TYPES = (".png", ".pdf", ".svg", ".jpg")

#: Large enough to be read when the figure is printed at half its size.
_STYLE: dict[str, Any] = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 14,
    "axes.labelsize": 15,
    "axes.titlesize": 15,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "legend.fontsize": 12,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#D9DEE2",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.solid_capstyle": "round",
    "figure.facecolor": "white",
    "savefig.dpi": 180,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 4),
    "agg.path.chunksize": 20_000,
}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """The look of all figures, inside a `with`; the user's own settings come back after it."""
    import matplotlib as mpl
    from matplotlib.rcsetup import cycler

    settings: Any = {**_STYLE, "axes.prop_cycle": cycler(color=list(PALETTE))}
    with mpl.rc_context(settings):
        yield


def new_figure(width: float, height: float, path) -> Figure:
    """A figure of pyplot (to be shown), or one that only lives until it is saved."""
    if path is None:
        import matplotlib.pyplot as plt

        if in_notebook():
            return plt.figure(figsize=(width, height), layout="constrained", FigureClass=_notebook_figure())
        return plt.figure(figsize=(width, height), layout="constrained")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


@functools.cache
def _notebook_figure() -> type[Figure]:
    """Figures of notebooks: a cell displays the value of its last line, and then all open figures; once is enough."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        _is_shown = False

        def _ipython_display_(self) -> None:
            import matplotlib.pyplot as plt

            is_open = plt.fignum_exists(getattr(self, "number", -1))
            if is_open and (self._is_shown or not plt.get_backend().lower().endswith(("inline", "agg"))):
                return  # shown by the last line, or by a backend that has windows or widgets
            self._is_shown = True
            buffer = io.BytesIO()
            self.savefig(buffer, format="png", bbox_inches="tight")
            display({"image/png": base64.b64encode(buffer.getvalue()).decode("ascii"), "text/plain": repr(self)})

    return NotebookFigure


def save_figure(figure: Figure, path) -> None:
    """Write the figure if a path was given."""
    if path is not None:
        target = checked_target(path, FIGURE_TYPES, "a figure")
        write_atomically(target, lambda part: figure.savefig(part, format=target.suffix[1:].lower()))


def checked_target(path, types: tuple[str, ...], what: str) -> pathlib.Path:
    """The path, if something of one of these types can be written there."""
    target = checked_path(path, f"cannot save {what} to")
    if target.suffix.lower() not in types:
        found = f"{target.suffix!r}" if target.suffix else "no ending"
        raise InputError(f"cannot save {what} to {target}: expected a name ending in {', '.join(types)}, got {found}.")
    if not target.parent.is_dir():
        raise InputError(f"cannot save {what} to {target}: the folder {target.parent} does not exist.")
    if target.is_dir():
        raise InputError(f"cannot save {what} to {target}: it is a folder.")
    check_writable(target.parent, f"cannot save {what} to {target}")
    return target


def check_figure(path) -> None:
    """Refuse a path to which no figure can be written: before the work, not after it."""
    if path is not None:
        checked_target(path, FIGURE_TYPES, "a figure")


def write_atomically(target: pathlib.Path, write: Callable[[pathlib.Path], Any]) -> pathlib.Path:
    """Let `write` fill a file beside the target and put it in its place when it is complete."""
    part = target.with_name(target.name + ".part")
    try:
        write(part)
        part.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)
    return target
