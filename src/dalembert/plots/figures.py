"""The figures: an overview of a run, and its panels one by one.

Every function returns a matplotlib figure. With a `path` it is also saved (.png, .pdf, .svg, .jpg) and does
not appear in pyplot; without one it is a figure of pyplot, shown by `plt.show()` or by the notebook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import count, floats, named_values, number, shown
from ..errors import InputError
from ..multibody import MultibodySystem
from ..trajectory import check_single, has_energy
from .arrows import FORCES, Drawn, at_the_end, wanted_forces
from .bodies import Bodies, bodies_of, colour_of
from .forces import Wanted
from .geometry import Geometry, geometry_of, has_own_points
from .quantities import drawing_of, split_arguments
from .series import (
    FEW_STATES,
    MOST_NAMED,
    constrained,
    draw_constraints,
    draw_coordinates,
    draw_energy,
    draw_gaps,
    draw_invariants,
    draw_joints,
    draw_multipliers,
    draw_reactions,
    family_colors,
    legend_above,
)
from .style import GREY, PALETTE, check_figure, new_figure, save_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A path is drawn with at most this many states.
PATH_STATES = 20_000
#: How much the first configuration of bodies covers what is behind it.
PALE = 0.35
#: Bodies on their way are drawn so often at most.
ON_THE_WAY = 4


def plot(run, *quantities, path=None, dimension: int | None = None, forces: str = "contacts") -> Figure:
    """An overview: path, phase portrait, energy error, constraint residuals, multipliers, invariants. Or quantities by
    name against time, `run.plot("q", "energy")`, one below the other.

    Args:
        run: a `Trajectory`.
        quantities: any of "q", "v", "p", "lam", "psi", "energy", "energy error", "constraint", "hidden", "gap",
            "impulse", "invariants", and the names of invariants; and the path, which may stand here as well.
        path: where to save the figure, if at all.
        dimension: 2 or 3, to say how coordinates form points where the system does not.
        forces: which ones are arrows at the last configuration: "contacts", "reactions" of constraints, "all", "none".
    """
    wanted = wanted_forces(forces)
    names, path = split_arguments(quantities, path)
    if names:
        check_single(run, "plot")
        drawings = [drawing_of(run, name) for name in names]
        return _figure(run, path, 7.4, 1.2 + 2.4 * len(names), lambda figure: _draw_below(figure, run, drawings))
    return _figure(run, path, 12.0, 7.4, lambda figure: _draw_overview(figure, run, dimension, wanted))


def plot_path(run, path=None, *, dimension: int | None = None, forces: str = "contacts") -> Figure:
    """The path of every point in the plane or in space, with the first and the last configuration, and which `forces`
    act at the last one: of "contacts", "reactions" of constraints, "all" or "none".

    Coordinates that are not points, and points on a line along an axis, are drawn over time.
    """
    check_single(run, "plot")
    wanted = wanted_forces(forces) if has_own_points(run, dimension) else FORCES["none"]
    geometry = moving_geometry(run, dimension)
    size = (6.4, 4.2) if geometry is None else (6.0, 6.0)

    def draw(figure) -> None:
        draw_path(figure, figure.add_gridspec(1, 1)[0], run, geometry, wanted)

    return _figure(run, path, *size, draw)


def plot_phase(run, path=None, *, coordinates: Sequence[int] | None = None) -> Figure:
    """The phase portrait: momentum against position, of the first three coordinates or of those given."""
    return _figure(run, path, 6.0, 5.0, lambda figure: _draw_phase(figure.add_subplot(), run, coordinates))


def plot_energy(run, path=None) -> Figure:
    """The energy error over time."""
    return _figure(run, path, 6.4, 3.8, lambda figure: draw_energy(figure.add_subplot(), run))


def plot_constraints(run, path=None) -> Figure:
    """The residuals of the constraints at position and velocity level over time, on a logarithmic axis."""
    check_single(run, "plot")
    if not any(constrained(run)):
        raise InputError("this run has no constraints to plot.")
    return _figure(run, path, 6.4, 3.8, lambda figure: draw_constraints(figure.add_subplot(), run))


def _step_sizes(hs) -> np.ndarray:
    hs = floats("hs", hs, finite=True)
    if hs.ndim != 1 or not len(hs) or not np.all(hs > 0):
        raise InputError(f"hs must be positive step sizes of shape (k,), got {shown(hs)}.")
    return hs


def plot_convergence(
    hs,
    errors: Mapping,
    path=None,
    *,
    order: float | None = None,
    labels: tuple[str, str] = ("$h$", "error at the end"),
) -> Figure:
    """Errors against step sizes in double logarithmic axes, with a line of slope `order`.

    Args:
        hs: step sizes, or those of each of the errors by its name.
        errors: named errors, one per step size.
        path: where to save the figure, if at all.
        order: the order that is claimed.
        labels: of the two axes.
    """
    check_figure(path)
    if isinstance(hs, Mapping):
        sizes = {name: _step_sizes(own) for name, own in hs.items()}
        if not isinstance(errors, Mapping) or set(errors) != set(sizes):
            raise InputError(f"errors must have the names of hs, {', '.join(map(str, sizes))}, got {shown(errors)}.")
        errors = {name: named_values("errors", {name: errors[name]}, sizes[name].shape)[name] for name in sizes}
    else:
        errors = named_values("errors", errors, _step_sizes(hs).shape)
        sizes = dict.fromkeys(errors, _step_sizes(hs))
    h = np.unique(np.concatenate(list(sizes.values())))[::-1]
    order = None if order is None else number("order", order, 0.0, 100.0)
    if not isinstance(labels, tuple | list) or len(labels) != 2 or not all(isinstance(text, str) for text in labels):
        raise InputError(f"labels must be two texts, for the axes of h and of the errors, got {shown(labels)}.")
    with style():
        figure = new_figure(6.0, 4.6, path)
        axes = figure.add_subplot()
        largest = 0.0
        for k, (label, values) in enumerate(errors.items()):
            good = np.isfinite(values) & (values > 0)
            largest = max(largest, float(np.max(values[good], initial=0.0)))
            axes.plot(
                sizes[label][good], values[good], "os^Dvp"[k % 6], ls="-", color=PALETTE[k % len(PALETTE)], label=label
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        if order is not None and largest > 0:
            axes.plot(h, 2.5 * largest * (h / h.max()) ** order, "--", color=GREY, label=f"order {order:g}")
        ticks = h if len(h) <= 6 else h[:: (len(h) + 5) // 6]
        axes.set_xticks(ticks, [f"{value:.3g}" for value in ticks])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        if len(errors) > 4:  # names beside the axes: above them they would need more room than the curves
            figure.set_size_inches(8.4, 4.6)
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        else:
            legend_above(axes, columns=5)
        save_figure(figure, path)
    return figure


# -- drawing -------------------------------------------------------------------------------------------------


def _figure(run, path, width: float, height: float, draw) -> Figure:
    check_single(run, "plot")
    check_figure(path)
    with style():
        figure = new_figure(width, height, path)
        draw(figure)
        if not run.status:
            figure.suptitle(f"stopped at $t$ = {float(run.t[-1]):.4g}", color=PALETTE[1])
        save_figure(figure, path)
    return figure


def _draw_below(figure, run, drawings: Sequence) -> None:
    """Panels one below the other over the same times."""
    axes = None
    for k, draw in enumerate(drawings):
        axes = figure.add_subplot(len(drawings), 1, k + 1, sharex=axes)
        draw(axes, run)
        if k < len(drawings) - 1:
            axes.tick_params(labelbottom=False)
            axes.set_xlabel("")


def _panels(run) -> list:
    """What an overview shows over time."""
    panels = [draw_energy] if has_energy(run) else [draw_coordinates]
    panels += [draw_constraints] * any(constrained(run))
    if isinstance(run.system, MultibodySystem):  # whose multipliers are asked for as reactions of joints
        panels += [draw_joints] * any(joint.kind.coordinates for joint in run.system.joints)
    else:
        panels += [draw_multipliers] * bool(np.shape(run.lam)[1])
        if np.shape(run.psi)[1] and run.psi is not run.lam and not np.size(run.impulse):
            panels.append(draw_reactions)
    if np.size(run.impulse):
        panels.append(draw_gaps)
    if run.invariants:
        panels.append(draw_invariants)
    return panels


def _draw_overview(figure, run, dimension: int | None, forces: Wanted) -> None:
    panels = _panels(run)
    geometry = moving_geometry(run, dimension)
    # single components of places and directors say nothing, and neither do angles without their names
    has_phase = not isinstance(run.system, MultibodySystem)
    figure.set_size_inches(12.0, {1: 5.0, 2: 6.4, 3: 8.0}.get(len(panels), 9.6))
    figure.get_layout_engine().set(wspace=0.06)
    grid = figure.add_gridspec(1, 2, width_ratios=(1.0, 1.15))
    left = grid[0].subgridspec(2, 1, height_ratios=(1.35, 1.0) if geometry is not None else (1.0, 1.0))
    right = grid[1].subgridspec(len(panels), 1)
    shown = forces if has_own_points(run, dimension) else FORCES["none"]
    draw_path(figure, left[0] if has_phase else grid[0], run, geometry, shown)
    if has_phase:
        _draw_phase(figure.add_subplot(left[1]), run, None)
    axes = None
    for k, draw in enumerate(panels):
        axes = figure.add_subplot(right[k], sharex=axes)
        draw(axes, run)
        if k < len(panels) - 1:
            axes.tick_params(labelbottom=False)
            axes.set_xlabel("")


def moving_geometry(run, dimension: int | None) -> Geometry | None:
    """The points of a run; None where their path shows nothing of the motion, or where nobody says that its four or
    more coordinates are those of points."""
    geometry = geometry_of(run, dimension)
    said = dimension is not None or (run.system is not None and (run.system.provides("points") or len(run.system.bars)))
    if geometry is not None and geometry.count > 1 and not said and run.system is not None:
        return None
    return None if geometry is not None and geometry.along_axis else geometry


def draw_path(figure, where, run, geometry: Geometry | None, forces: Wanted = FORCES["none"]) -> None:
    """The path in one field of a grid, with forces at its end; coordinates over time where there is no geometry."""
    if geometry is None:
        draw_coordinates(figure.add_subplot(where), run)
        return
    bodies = bodies_of(run)
    if bodies is not None:
        axes = figure.add_subplot(where, projection="3d")
        _draw_bodies(axes, run, bodies)
        _draw_forces(axes, at_the_end(run, geometry, forces))
        return
    spatial = geometry.dimension == 3
    axes = figure.add_subplot(where, projection="3d" if spatial else None)
    frame_axes(axes, geometry)
    stride = max(1, len(run.t) // PATH_STATES)
    many = geometry.count > MOST_NAMED
    for k, color in enumerate(family_colors(geometry.count)):
        axes.plot(*geometry.points[::stride, k].T, color=color, linewidth=0.6 if many else 1.0, alpha=0.8)
    for frame, face, name in ((0, "white", "start"), (len(run.t) - 1, "black", "end")):
        width = 0.9 if face == "white" else 1.8
        for ends in geometry.bar_ends(frame):
            axes.plot(*ends.T, color=GREY if face == "white" else "black", linewidth=width, zorder=4)
        size = 3.5 if many else 6
        axes.plot(
            *geometry.points[frame].T, "o", markerfacecolor=face, markeredgecolor="black", markersize=size,
            zorder=5, label=name,
        )  # fmt: skip
    _draw_forces(axes, at_the_end(run, geometry, forces))
    legend_above(axes, height=0.9 if spatial else 1.0)


def _draw_forces(axes, arrows: Drawn | None) -> None:
    from .arrow_artist import add_arrows

    if arrows is not None:
        add_arrows(axes).show(arrows)


def _draw_bodies(axes, run, bodies: Bodies) -> None:
    """The bodies at the begin, pale, and at the end; between them the paths of their centres of mass, and where they
    go far, the bodies on their way."""
    from .rendering import Surfaces

    frame_bodies(axes, bodies)
    stride = max(1, len(run.t) // PATH_STATES)
    for k in range(bodies.centres.shape[1]):
        axes.plot(*bodies.centres[::stride, k].T, color=colour_of(k), linewidth=0.8, alpha=0.8, zorder=4)
    times = np.linspace(run.t[0], run.t[-1], 2 + min(ON_THE_WAY, int(bodies.travel)))
    poses = bodies.at(times)
    for frame in range(len(times)):
        last = frame == len(times) - 1
        drawn = Surfaces(axes, alpha=1.0 if last else PALE, zorder=2 + last)
        drawn.surface = bodies.surface(poses, frame, floors=frame == 0)


def frame_bodies(axes, bodies: Bodies) -> None:
    """Limits, equal scales, labels, and the view of a scene with bodies."""
    axes.computed_zorder = False
    axes.view_init(bodies.view.elevation, bodies.view.azimuth, vertical_axis=bodies.view.vertical)
    frame_space(axes, bodies.limits)  # which asks what the vertical axis is
    _label_space(axes, ("$x$", "$y$", "$z$"))


def frame_axes(axes, geometry: Geometry, zoom: float = 0.83) -> None:
    """Limits that hold all points at all times, equal scales, labels."""
    limits = geometry.limits()
    if geometry.dimension == 3:
        frame_space(axes, limits, zoom)
        _label_space(axes, geometry.labels)
    else:
        axes.set_xlim(*limits[0])
        axes.set_ylim(*limits[1])
        axes.set_xlabel(geometry.labels[0])
        axes.set_ylabel(geometry.labels[1])
        axes.set_aspect("equal")
        axes.xaxis.set_major_locator(_few_ticks(6))
        axes.yaxis.set_major_locator(_few_ticks(6))


def frame_space(axes, limits: np.ndarray, zoom: float = 1.05) -> None:
    """Limits of axes in space, equal scales."""
    axes.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
    axes.set_box_aspect(np.ptp(limits, axis=1), zoom=zoom)


def _label_space(axes, labels: Sequence[str]) -> None:
    axes.set(xlabel=labels[0], ylabel=labels[1], zlabel=labels[2])
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_major_locator(_few_ticks())
        axis.pane.set_facecolor("white")
        axis.labelpad = 14 if axis is axes.zaxis else 8  # off the numbers, also of a long axis seen from the side
    axes.tick_params(pad=1)
    axes.tick_params(axis="z", pad=6)  # the sign of a long number shall not touch the axis


def _few_ticks(count: int = 4):
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=count, steps=[1, 2, 5, 10])


def _draw_phase(axes, run, coordinates: Sequence[int] | None) -> None:
    n = run.q.shape[1]
    if coordinates is None:
        coordinates = range(min(3, n))
    if not isinstance(coordinates, Sequence | np.ndarray) or not np.size(coordinates) or not np.ndim(coordinates):
        raise InputError(f"coordinates must be numbers of coordinates such as [0, 1], got {shown(coordinates)}.")
    chosen = [count("each of coordinates", k, 0, n - 1) for k in coordinates]
    q, p = np.asarray(run.q), np.asarray(run.p)
    stride = max(1, len(q) // PATH_STATES)
    for k, color in zip(chosen, family_colors(len(chosen)), strict=True):
        x, y = q[::stride, k], p[::stride, k]
        marker = "o" if len(x) < FEW_STATES else None
        axes.plot(x, y, color=color, linewidth=1.0, alpha=0.85, marker=marker, markersize=4, label=f"$i={k}$")
    one = len(chosen) == 1
    axes.set_xlabel(f"$q_{{{chosen[0]}}}$" if one else "$q_i$")
    axes.set_ylabel(f"$p_{{{chosen[0]}}}$" if one else "$p_i$")
    if not one:
        legend_above(axes, columns=4)
