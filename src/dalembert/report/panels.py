"""Where the panels of a figure are and what their axes mean: what the page needs to zoom into them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


def name_panels(figure: Figure) -> None:
    """Give the axes names by which they are found in the SVG file; before it is written."""
    for k, axes in enumerate(figure.axes):
        axes.set_gid(f"panel_{k}")


def panels_of(figure: Figure) -> list[dict]:
    """The panels one can zoom into: place in points from the upper left corner, limits and scales of the axes.

    Axes in space, tables and others that say `set_navigate(False)` are left out.
    """
    wide, high = 72 * figure.get_size_inches()
    shown = [axes for axes in figure.axes if _is_zoomable(axes)]
    panels = []
    for axes in shown:
        place = axes.get_position()
        siblings = axes.get_shared_x_axes().get_siblings(axes)
        panels.append(
            {
                "id": axes.get_gid(),
                "box": [place.x0 * wide, (1 - place.y1) * high, place.width * wide, place.height * high],
                "x": _axis(axes.xaxis),
                "y": _axis(axes.yaxis),
                "shares_x": [k for k, other in enumerate(shown) if other in siblings and other is not axes],
            }
        )
    return panels


def _is_zoomable(axes: Axes) -> bool:
    scales = {axes.get_xscale(), axes.get_yscale()}
    return axes.name == "rectilinear" and axes.get_navigate() and bool(axes.lines) and scales <= {"linear", "log"}


def _axis(axis: Axis) -> dict:
    low, high = (float(x) for x in axis.get_view_interval())
    return {"low": low, "high": high, "log": axis.get_scale() == "log", "unit": _unit(axis)}


def _unit(axis: Axis) -> float:
    """What 1 on the axis stands for: the power of ten that its label or its corner shows."""
    locations = list(axis.get_majorticklocs())
    for value, label in zip(locations, axis.get_major_formatter().format_ticks(locations), strict=True):
        try:
            shown = float(label.replace("\N{MINUS SIGN}", "-").replace(r"$\mathdefault{", "").replace("}$", ""))
        except ValueError:
            continue
        if value and shown:
            return float(value / shown)
    return 1.0
