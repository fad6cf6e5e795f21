"""Filled, shaded surfaces in the axes of matplotlib: every pixel shows the triangle that is nearest to the eye.

Matplotlib orders whole polygons, which goes wrong where bodies touch, overlap or are long. Here an artist projects
triangles by the projection of its axes, finds the nearest one for each pixel (a depth buffer), and hands the picture to
whatever draws the figure, so that windows, files and films of all types show the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist

from .meshes import Surface

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

#: Pixels of the picture for each pixel of the figure along each side: smooth edges.
FINER = 2
#: Pixels that are looked at in one go: memory, about 100 bytes each.
MOST_FRAGMENTS = 1_000_000
#: Brightness of a surface in the shade, and how much the light adds.
SHADE, LIGHT = 0.6, 0.4
#: How dark the edges between surfaces are.
EDGE = 0.6


class Surfaces(Artist):
    """An artist that draws a `Surface` in axes in space."""

    def __init__(self, axes: Axes3D, alpha: float = 1.0, zorder: float = 2.0) -> None:
        super().__init__()
        self.surface: Surface | None = None
        self.set_alpha(alpha)
        self.set_zorder(zorder)
        axes.add_artist(self)

    def do_3d_projection(self) -> float:
        """How far away it is, for axes that order their artists: behind all lines."""
        return np.inf

    def draw(self, renderer) -> None:
        """Draw the surface as a picture, no larger than what is seen of it."""
        if self.surface is None or not self.get_visible() or not len(self.surface.triangles):
            return
        axes = self.axes
        assert axes is not None
        projection = axes.get_proj()  # pyright: ignore[reportAttributeAccessIssue]
        flat, depth = _projected(self.surface.points, projection)
        places = axes.transData.transform(flat)
        fine = FINER * renderer.get_image_magnification()
        low = np.floor(np.maximum(places.min(axis=0), axes.bbox.min))
        high = np.ceil(np.minimum(places.max(axis=0), axes.bbox.max))
        width, height = (np.maximum(high - low, 0) * fine).astype(int) // FINER * FINER
        if not width or not height:
            return
        light = _brightness(self.surface.normals, projection)
        picture = rasterised(self.surface, (places - low) * fine, depth, light, (height, width))
        small = _coarser(picture, self.get_alpha() or 1.0)
        context = renderer.new_gc()
        renderer.draw_image(context, float(low[0]), float(low[1]), small)
        context.restore()


def _projected(points: np.ndarray, projection: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places in the flat coordinates of the axes, and depths, which are linear in these."""
    found = np.concatenate([points, np.ones((len(points), 1))], axis=1) @ projection.T
    return found[:, :2] / found[:, 3:], found[:, 2] / found[:, 3]


def _brightness(normals: np.ndarray, projection: np.ndarray) -> np.ndarray:
    """Of points with these normals, in a light from the upper left behind the eye."""
    right, up = (row / np.linalg.norm(row) for row in projection[:2, :3])
    direction = 0.8 * np.cross(right, up) + 0.65 * up - 0.35 * right
    direction /= np.linalg.norm(direction)
    return SHADE + LIGHT * np.maximum(normals @ direction, 0.0)


def rasterised(
    surface: Surface, places: np.ndarray, depth: np.ndarray, light: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """The picture, (height, width, 4), its first row at the bottom: what is nearest, lit, with edges; else nothing.

    A pixel at p belongs to the triangle (a, b, c) if its weights are not negative::

        w_a = |b - p, c - p| / |b - a, c - a|,   ...,   depth = sum w depth,   brightness = sum w brightness
    """
    height, width = shape
    nearest = np.full(height * width, np.inf)
    bright = np.zeros(height * width)
    owner = np.full(height * width, -1)
    corners = places[surface.triangles]
    (ax, ay), (bx, by), (cx, cy) = (corners[:, k].T for k in range(3))
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    low = np.clip(np.floor(corners.min(axis=1)), 0, [width, height]).astype(int)
    size = np.clip(np.ceil(corners.max(axis=1)), 0, [width, height]).astype(int) - low
    count = np.where(area > 1e-12, np.prod(np.maximum(size, 0), axis=1), 0)
    for chosen in _pieces(count):
        k = chosen.repeat(count[chosen])
        number = np.arange(len(k)) - (np.cumsum(count[chosen]) - count[chosen]).repeat(count[chosen])
        x, y = low[k, 0] + number % size[k, 0], low[k, 1] + number // size[k, 0]
        u, v = x + 0.5, y + 0.5
        wa = ((bx[k] - u) * (cy[k] - v) - (by[k] - v) * (cx[k] - u)) / area[k]
        wb = ((cx[k] - u) * (ay[k] - v) - (cy[k] - v) * (ax[k] - u)) / area[k]
        inside = (wa >= 0) & (wb >= 0) & (wa + wb <= 1)
        k, wa, wb, pixel = k[inside], wa[inside], wb[inside], (y * width + x)[inside]
        weights, ends = np.stack([wa, wb, 1 - wa - wb], axis=1), surface.triangles[k]
        far = np.sum(weights * depth[ends], axis=1)
        order = np.argsort(-far, kind="stable")  # the last one that is written to a pixel stays
        order = order[far[order] < nearest[pixel[order]]]
        pixel = pixel[order]
        nearest[pixel], owner[pixel] = far[order], k[order]
        bright[pixel] = np.sum(weights * light[ends], axis=1)[order]
    return _coloured(surface, owner.reshape(shape), bright.reshape(shape))


def _pieces(count: np.ndarray):
    """The triangles that cover anything, in pieces of a bounded number of pixels."""
    covering = np.flatnonzero(count)
    piece = np.cumsum(count[covering]) // MOST_FRAGMENTS
    return np.split(covering, np.flatnonzero(np.diff(piece)) + 1) if len(covering) else []


def _coloured(surface: Surface, owner: np.ndarray, bright: np.ndarray) -> np.ndarray:
    picture = np.zeros((*owner.shape, 4))
    seen = owner >= 0
    picture[seen, :3] = surface.colours[owner[seen]] * bright[seen, None]
    picture[seen, 3] = 1.0
    patch = np.where(seen, surface.patches[owner], -1)
    edge = np.zeros(owner.shape, dtype=bool)
    edge[:, 1:] |= (patch[:, 1:] != patch[:, :-1]) & ((patch[:, 1:] >= 0) | (patch[:, :-1] >= 0))
    edge[1:] |= (patch[1:] != patch[:-1]) & ((patch[1:] >= 0) | (patch[:-1] >= 0))
    picture[edge & seen, :3] *= EDGE
    return picture


def _coarser(picture: np.ndarray, alpha: float) -> np.ndarray:
    """The means of FINER x FINER pixels, as bytes; colours count as much as they cover."""
    height, width = picture.shape[:2]
    blocks = picture.reshape(height // FINER, FINER, width // FINER, FINER, 4)
    mean = blocks.mean(axis=(1, 3))
    mean[..., :3] /= np.maximum(mean[..., 3:], 1e-9)
    mean[..., 3] *= alpha
    return np.round(255 * np.clip(mean, 0.0, 1.0)).astype(np.uint8)
