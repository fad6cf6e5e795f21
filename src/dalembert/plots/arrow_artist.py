"""The arrows of forces as an artist of matplotlib, which is loaded with this module."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import PolyCollection
from mpl_toolkits.mplot3d import proj3d

from .arrows import Drawn, outlines


class ForceArrows(PolyCollection):
    """Arrows over everything else, in the plane or in space; in space they are turned with the axes."""

    def __init__(self) -> None:
        super().__init__([], zorder=7, linewidths=0.0)
        self._drawn: Drawn | None = None

    def show(self, drawn: Drawn | None) -> None:
        """The arrows of a moment, or none."""
        self._drawn = drawn
        if drawn is None:
            self.set_verts([])
            return
        self.set_facecolor([tuple(colour) for colour in drawn.colours.tolist()])
        if drawn.starts.shape[1] == 2:
            self.set_verts(list(outlines(drawn.starts, drawn.ends, drawn.half, drawn.head)))
        else:
            self.do_3d_projection()

    def do_3d_projection(self) -> float:
        """The arrows as they are seen now; axes in space draw first what is far, by the number that is returned.

        Of three unit vectors at right angles, an orthogonal projection with the scale s has lengths whose squares add
        up to 2 s^2: by s, widths become those of the plane that is seen.
        """
        axes: Any = self.axes
        drawn = self._drawn
        if drawn is not None and axes is not None and len(drawn.starts):
            seen = axes.get_proj()
            middle = np.array([np.mean(limits) for limits in (axes.get_xlim(), axes.get_ylim(), axes.get_zlim())])
            corners = np.stack([middle, *(middle + np.eye(3))])
            first, *others = _projected(corners, seen)
            scale = np.sqrt(np.sum((np.array(others) - first) ** 2) / 2)
            starts, ends = (_projected(places, seen) for places in (drawn.starts, drawn.ends))
            self.set_verts(list(outlines(starts, ends, scale * drawn.half, scale * drawn.head)))
        return -np.inf


def _projected(places: np.ndarray, matrix: Any) -> np.ndarray:
    """Where places in space are in the plane that is seen."""
    x, y, z = places.T
    return np.stack(proj3d.proj_transform(x, y, z, matrix)[:2], axis=1)


def add_arrows(axes: Any) -> ForceArrows:
    """An artist in these axes, without arrows yet, that leaves their limits as they are."""
    arrows = ForceArrows()
    axes.add_collection(arrows, autolim=False)
    return arrows
