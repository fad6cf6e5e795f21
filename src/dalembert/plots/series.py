"""Curves over time on given axes: energy error, constraint residuals, multipliers, invariants."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from ..multibody import MultibodySystem
from .style import GREY, PALETTE

#: Residuals below this are drawn here, zeros among them: it lies below the roundoff of numbers of size one.
FLOOR = 1e-17
EPSILON = float(np.finfo(float).eps)
#: More curves than this are drawn as one family without names.
MOST_NAMED = 6
#: Joints whose coordinates are shown in one panel.
MOST_JOINTS = 4
#: Letters of a line of names above a panel.
LINE = 34
#: A curve that turns more often than this is drawn as the band between its extremes in as many windows.
MOST_TURNS = 300
#: Events are told apart to this part of the time axis.
MOST_TICKS = 1000
#: Fewer states than this are marked one by one.
FEW_STATES = 25


def curve(axes, t, y, color, label: str | None = None, linewidth: float = 1.4) -> None:
    """A curve; few states get markers, and one that would fill the panel with ink becomes a band."""
    t, y = np.asarray(t), np.asarray(y)
    slopes = np.sign(np.diff(y))
    if np.count_nonzero(slopes[1:] * slopes[:-1] < 0) > MOST_TURNS:
        centres, low, high = windows(t, y)
        axes.fill_between(centres, low, high, color=color, alpha=0.35, linewidth=0, label=label)
        for edge in (low, high):
            axes.plot(centres, edge, color=color, linewidth=0.8 * linewidth)
        return
    axes.plot(t, y, color=color, label=label, linewidth=linewidth, marker=_marker(t), markersize=4)


def windows(t: np.ndarray, y: np.ndarray, count: int = MOST_TURNS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, smallest and largest value of y in `count` windows; the first and last time stay."""
    count = min(count, len(t))
    edges = np.linspace(0, len(t), count + 1).astype(int)[:-1]
    times = np.interp(np.linspace(0, len(t) - 1, count), np.arange(len(t)), t)
    return times, np.minimum.reduceat(y, edges), np.maximum.reduceat(y, edges)


def _marker(t) -> str | None:
    return "o" if len(t) < FEW_STATES else None


def event_ticks(axes, run) -> None:
    """A tick at the time of every event of the run; several at one place of the picture are one."""
    try:
        times, t = np.asarray(run.events.time), np.asarray(run.t)
    except InputError:  # its method finds none, and none were asked for
        return
    span = float(t[-1] - t[0]) or 1.0
    places = t[0] + np.unique(np.round((times - t[0]) / span * MOST_TICKS)) * span / MOST_TICKS
    axes.plot(
        places, np.full(len(places), 0.02), linestyle="none", marker="|", markersize=7, color=GREY,
        transform=axes.get_xaxis_transform(), zorder=3,
    )  # fmt: skip


def time_axis(axes, run) -> None:
    """The label, the limits, the events, and a line where a failed run stopped."""
    event_ticks(axes, run)
    t = np.asarray(run.t)
    axes.set_xlabel("$t$")
    if len(t) > 1:
        axes.set_xlim(t[0], t[-1])
    if not run.status:
        span = float(t[-1] - t[0]) or float(np.max(run.provenance["h"]))
        axes.set_xlim(t[0], t[-1] + 0.03 * span)
        axes.axvline(t[-1], color=GREY, linestyle="--", linewidth=1.0)


def legend_above(axes, columns: int = 3, height: float = 1.0) -> None:
    """A legend between the axes and whatever is above: it never covers a curve."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        axes.legend(
            handles, labels, loc="lower left", bbox_to_anchor=(0.0, height), ncols=min(columns, len(labels)),
            borderaxespad=0.2, columnspacing=1.2, handletextpad=0.5,
        )  # fmt: skip


def scaled_label(axes, label: str) -> None:
    """The label of the vertical axis, the power of ten in it and not in the corner of the legend."""
    from matplotlib.ticker import FuncFormatter

    largest = float(np.max(np.abs(axes.get_ylim())))
    exponent = int(np.floor(np.log10(largest))) if largest > 0 else 0
    if -2 <= exponent <= 3:
        axes.set_ylabel(f"${label}$")
        return
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / 10.0**exponent:g}".replace("-", "\N{MINUS SIGN}")))
    axes.set_ylabel(rf"${label}\quad[10^{{{exponent}}}]$")


def label_few_decades(axis) -> None:
    """Numbers at 1, 2 and 5 on a logarithmic axis of less than two decades: powers of ten alone say too little."""
    from matplotlib.ticker import FuncFormatter

    low, high = axis.get_view_interval()
    if not 0 < low < high < 100 * low:
        return
    axis.set_major_formatter(FuncFormatter(lambda x, _: _short(x)))
    axis.set_minor_formatter(FuncFormatter(lambda x, _: _short(x) if f"{x:e}"[0] in "25" else ""))


def _short(x: float) -> str:
    """0.002, 50, or a power of ten where that is too long."""
    if 1e-3 <= x < 1e4:
        return f"{x:g}"
    digit, exponent = f"{x:e}"[0], int(f"{x:e}".split("e")[1])
    return f"$10^{{{exponent}}}$" if digit == "1" else rf"${digit}\cdot 10^{{{exponent}}}$"


def draw_energy(axes, run) -> None:
    """E(t) - E(0), with a scale not finer than the roundoff of E."""
    energy = np.asarray(run.energy)
    curve(axes, run.t, energy - energy[0], PALETTE[0])
    roundoff = EPSILON * max(1e-300, float(np.max(np.abs(energy))))
    low, high = axes.get_ylim()
    if high - low < 8 * roundoff:
        axes.set_ylim(-4 * roundoff, 4 * roundoff)
    scaled_label(axes, "E(t) - E(0)")
    time_axis(axes, run)


def constrained(run) -> tuple[bool, bool]:
    """Whether a run has holonomic and nonholonomic constraints. A model says so itself: its multipliers take long."""
    if isinstance(run.system, MultibodySystem):
        return run.system.provides("holonomic"), run.system.provides("nonholonomic")
    return bool(np.shape(run.lam)[1]), bool(np.shape(run.psi)[1])


def draw_constraints(axes, run) -> None:
    """max|g| and max|g_q v + g_t|, max|k| of nonholonomic constraints, on a logarithmic axis."""
    holonomic, nonholonomic = constrained(run)
    levels = [r"|g_q v + g_t|"] * holonomic + ["|k|"] * nonholonomic
    residuals = {r"$\max\,|g|$": run.constraint} if holonomic else {}
    residuals["$" + r"\max\," + r",\ ".join(levels) + "$"] = run.hidden
    draw_residuals(axes, run.t, residuals)
    axes.set_ylabel("residual")
    time_axis(axes, run)
    legend_above(axes, columns=4)


def draw_invariants(axes, run) -> None:
    """The change of each of the system's own invariants, the largest component of those that are arrays."""
    changes = {}
    for name, values in list(run.invariants.items())[: len(PALETTE)]:
        values = np.asarray(values).reshape(len(run.t), -1)
        changes[name.replace("_", " ")] = np.max(np.abs(values - values[0]), axis=1, initial=0.0)
    draw_residuals(axes, run.t, changes)
    axes.set_ylabel("change")
    time_axis(axes, run)
    legend_above(axes, columns=2 if len(changes) > 2 else 3)


def draw_residuals(axes, t, residuals: dict) -> None:
    """What should be zero, on a logarithmic axis: every value a dot, the largest of each window a line.

    Roundoff jumps between zero and a few units: the line shows what it does not exceed, the floor holds
    the zeros. Nothing is drawn where a value is NaN.
    """
    t = np.asarray(t)
    values = {label: np.abs(np.asarray(y, dtype=float)) for label, y in residuals.items()}
    largest = max((float(np.nanmax(y, initial=0.0)) for y in values.values()), default=0.0)
    floor = FLOOR if largest == 0.0 or largest > FLOOR else largest * 1e-3
    for k, (label, y) in enumerate(values.items()):
        lifted, color = np.maximum(y, floor), PALETTE[k % len(PALETTE)]
        stride = max(1, len(t) // 4000)
        axes.plot(t[::stride], lifted[::stride], ".", color=color, markersize=2, alpha=0.35, rasterized=True)
        times, _, high = windows(t, lifted, 120)
        axes.plot(times, high, color=color, label=label, marker=_marker(t), markersize=4)
    axes.set_yscale("log")
    axes.axhline(EPSILON, color=GREY, linestyle=":", linewidth=1.2, label=r"$\varepsilon$")
    bottom = min([float(np.nanmin(np.maximum(y, floor))) for y in values.values()] or [floor])
    axes.set_ylim(bottom / 2, max(20 * EPSILON, 5 * largest))
    from matplotlib.ticker import LogLocator, NullLocator

    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_minor_locator(NullLocator())


def draw_multipliers(axes, run) -> None:
    """The multipliers of the holonomic constraints."""
    lam = np.asarray(run.lam)
    draw_family(axes, run.t, lam, r"\lambda")
    scaled_label(axes, r"\lambda" if lam.shape[1] == 1 else r"\lambda_i")
    time_axis(axes, run)
    legend_above(axes, columns=MOST_NAMED)


def draw_reactions(axes, run) -> None:
    """The multipliers of the nonholonomic constraints."""
    psi = np.asarray(run.psi)
    draw_family(axes, run.t, psi, r"\psi")
    scaled_label(axes, r"\psi" if psi.shape[1] == 1 else r"\psi_i")
    time_axis(axes, run)
    legend_above(axes, columns=MOST_NAMED)


def draw_coordinates(axes, run) -> None:
    """q over time, for systems whose coordinates are not points."""
    q = np.asarray(run.q)
    draw_family(axes, run.t, q, "q")
    scaled_label(axes, "q" if q.shape[1] == 1 else "q_i")
    time_axis(axes, run)
    legend_above(axes, columns=MOST_NAMED)


def draw_joints(axes, run) -> None:
    """The first coordinates of the first joints of a model, by their names."""
    joints = [joint.name for joint in run.system.joints if joint.kind.coordinates][:MOST_JOINTS]
    for name, color in zip(joints, family_colors(len(joints)), strict=True):
        curve(axes, run.t, next(iter(run.joint(name).values.values())), color, name)
    axes.set_ylabel("joints")
    time_axis(axes, run)
    legend_above(axes, columns=max(1, LINE // max(map(len, joints))))


def draw_gaps(axes, run) -> None:
    """The distances of all contacts."""
    gap = np.asarray(run.gap)
    draw_family(axes, run.t, gap, "g")
    axes.axhline(0.0, color=GREY, linewidth=1.0)
    scaled_label(axes, r"\mathrm{gap}" if gap.shape[1] == 1 else r"\mathrm{gap}_i")
    time_axis(axes, run)
    legend_above(axes, columns=MOST_NAMED)


def family_colors(count: int) -> list:
    """Distinct colours for a few curves, an ordered map for many."""
    if count <= MOST_NAMED:
        return list(PALETTE[:count])
    import matplotlib as mpl

    return list(mpl.colormaps["viridis"](np.linspace(0.0, 0.85, count)))


def draw_family(axes, t, values: np.ndarray, letter: str) -> None:
    """A curve for each column, named where there are few."""
    count = values.shape[1]
    named = 1 < count <= MOST_NAMED
    for k, color in enumerate(family_colors(count)):
        label = f"${letter}_{{{k}}}$" if named else None
        curve(axes, t, values[:, k], color, label, linewidth=1.4 if count <= MOST_NAMED else 0.9)
