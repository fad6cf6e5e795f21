"""Contact impulses in films: where and how hard the contacts push.

A point x(t, q) is drawn with the arrow x_q (G^T P), the push of all contact impulses P on it. A film shows impulses
for a moment longer than they last, fading, so that an impact of one step is seen.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..formulation import mechanics_of
from .geometry import Geometry

#: Unlike all colours of points.
COLOUR = "#C1121F"
#: How long an impulse is seen, as a part of the trail.
AFTERGLOW = 0.25
#: The longest arrow, as a part of the picture.
LONGEST_ARROW = 0.25


def pushes_of(run, geometry: Geometry) -> np.ndarray | None:
    """The push on every point in every step, (N, points, dimension); None without contacts."""
    if run.system is None or not np.size(run.impulse):
        return None
    impulses = np.asarray(run.impulse)
    impulses = impulses[..., None] if impulses.ndim == 2 else impulses
    system = run._require_system("the pushes of its contacts")
    contact = mechanics_of(system).contact

    def push(t, q, impulse):
        force = contact.force(t, q, impulse)
        if geometry.points.shape[1] * geometry.dimension == q.shape[0] and not system.provides("points"):
            return force.reshape(-1, geometry.dimension)
        return jax.jvp(functools.partial(system.points, t), (q,), (force,))[1]

    return np.asarray(jax.jit(jax.vmap(push))(*(jnp.asarray(x) for x in (run.t, run.q, impulses))))


class Arrows:
    """The arrows of one film."""

    def __init__(self, axes, run, geometry: Geometry, trail: float) -> None:
        from matplotlib.collections import LineCollection
        from mpl_toolkits.mplot3d.art3d import Line3DCollection

        self._t, self._pushes = np.asarray(run.t), pushes_of(run, geometry)
        self._seen = AFTERGLOW * trail
        self._spatial = geometry.dimension == 3
        self.artists: list = []
        if self._pushes is None:
            return
        size = float(np.max(np.linalg.norm(self._pushes, axis=2), initial=0.0))
        self._scale = LONGEST_ARROW * float(np.max(np.ptp(geometry.limits(), axis=1))) / size if size > 0 else 0.0
        collection = Line3DCollection if self._spatial else LineCollection
        empty = np.zeros((geometry.count, 2, geometry.dimension))
        lines = collection(list(empty), linewidths=3.0, zorder=6, colors=COLOUR)
        self.artists = [axes.add_collection(lines)]

    def update(self, time: float, points: np.ndarray) -> None:
        """What pushed the points in the last moments before `time`, fading."""
        if not self.artists or self._pushes is None:
            return
        first, last = np.searchsorted(self._t, [time - self._seen, time], side="right")
        recent = self._pushes[first:last]
        strength = np.zeros(points.shape)
        if len(recent):
            fading = 1 - (time - self._t[first:last]) / max(self._seen, 1e-300)
            strongest = np.argmax(np.linalg.norm(recent, axis=2) * fading[:, None], axis=0)
            rows = np.arange(points.shape[0])
            strength = recent[strongest, rows] * fading[strongest, None]
        (lines,) = self.artists
        lines.set_segments(np.stack([points, points + self._scale * strength], axis=1))
        if self._spatial:
            lines.do_3d_projection()
