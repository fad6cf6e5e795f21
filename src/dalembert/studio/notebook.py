"""`run.view()` and `da.view(system)`: the view of the studio in a notebook, or as a file to be sent."""

from __future__ import annotations

import html
import pathlib

from ..arguments import count, floats, instance
from ..arguments import path as checked_path
from ..errors import InputError
from ..method import Method, method_named
from ..problem import AbstractSystem
from ..simulation import simulate
from ..trajectory import Trajectory, check_single
from .computing import Computed
from .exhibit import Exhibit, Launch, about, first_method, in_order, system_exhibit, title_of
from .export import export_html, write_export
from .messages import RunRequest


class View:
    """A run as a page that plays by itself: shown by notebooks, saved by `save`."""

    def __init__(self, exhibit: Exhibit, run: Trajectory, height: int) -> None:
        self._exhibit, self._height = exhibit, height
        self.run = run

    @property
    def html(self) -> str:
        """The self-contained page."""
        return export_html(self._exhibit, Computed(RunRequest(0, {}, ""), None, self.run))

    def save(self, path) -> pathlib.Path:
        """Write the page to a file that plays without a server and without a network."""
        target = checked_path(path, "cannot save to")
        if target.suffix.lower() not in (".html", ".htm"):
            raise InputError(f"a view is saved as a page, such as run.html; got {target}.")
        return write_export(target, self.html)

    def _repr_html_(self) -> str:
        # a page of its own: its scripts neither see the notebook nor are seen by it
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" style="width: 100%; height: {self._height}px; border: 0" '
            f'title="{html.escape(self._exhibit.title)}" srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"View({self._exhibit.title}, {len(self.run)} states; shown by notebooks, or .save('run.html'))"


def view_run(run: Trajectory, *, height: int = 640) -> View:
    """The run in space with its energy, constraints and multipliers, to be played, turned and sent.

    Args:
        run: a `Trajectory`.
        height: of the frame in a notebook, in pixels.
    """
    check_single(run, "view")
    run = in_order(run)
    name = str(run.provenance["system"])
    kind = None if run.system is None else type(run.system)
    exhibit = Exhibit(
        name.lower(), name if kind is None else title_of(kind), "" if kind is None else about(kind), run.system, run=run
    )
    return View(exhibit, run, count("height", height, 100, 10_000))


def view(
    system: AbstractSystem, q0=None, v0=None, method: Method | None = None, *,
    t: tuple[float, float] | None = None, h: float | None = None, height: int = 640,
) -> View:  # fmt: skip
    """Run a system and view it; a system of the gallery brings its own start.

    Args:
        system: what moves.
        q0, v0: the start.
        method: by default the first of RATTLE, Lobatto SPARK and Moreau-Jean that fits.
        t: the interval, (0, 10) or that of the system's own start.
        h: the step size.
        height: of the frame in a notebook, in pixels.
    """
    instance("system", system, AbstractSystem, "a system such as da.gallery.Pendulum()")
    if (q0 is None) != (v0 is None):
        raise InputError("da.view needs q0 and v0, or neither of them for a system of the gallery.")
    launch = None
    if q0 is not None and v0 is not None:
        launch = Launch(floats("q0", q0, finite=True), floats("v0", v0, finite=True), 0.0, 10.0, 0.01)
    exhibit = system_exhibit("system", system, launch)
    start = exhibit.start(system)
    run = simulate(
        system, method_named(first_method(system)) if method is None else method, start.q0, start.v0,
        t=(start.t0, start.t_end) if t is None else t, h=start.h if h is None else h, on_failure="return",
    )  # fmt: skip
    return view_run(run, height=height)
