"""The small pictures of the studio's start page, written into the package: `python docs/make_thumbnails.py [NAME ...]`.

Each is an SVG of the paths of a system's points and of its bars at one moment; a system without points shows its
coordinates over time.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Sequence

import numpy as np

from dalembert.gallery import SYSTEMS
from dalembert.plots.geometry import checked_bars
from dalembert.studio.computing import compute, corners_of, has_points, points_of
from dalembert.studio.exhibit import gallery_exhibit
from dalembert.studio.messages import RunRequest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "src" / "dalembert" / "studio" / "static" / "thumbnails"
WIDTH, HEIGHT, ROOM, MOST = 160, 120, 12, 160
COLOURS = ("#2463a8", "#b5402d", "#2a7d4f", "#8a5a9e", "#b07a12", "#2b8a94")
#: Of more points only the last one leaves a path.
FEW = 6
#: The moment of which the bars are drawn, as a part of the run.
MOMENT = 0.37


def main(names: list[str]) -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in names or SYSTEMS:
        (FOLDER / f"{name}.svg").write_text(thumbnail(name), encoding="utf-8")
        print(name)


def thumbnail(name: str) -> str:
    """The picture of a system of the gallery."""
    exhibit = gallery_exhibit(name)
    run = compute(exhibit, RunRequest(0, {}, exhibit.method)).run
    rows = np.unique(np.round(np.linspace(0, len(run.t) - 1, MOST)).astype(int))
    t, q = np.asarray(run.t)[rows], np.asarray(run.q)[rows]
    system = run.system
    if system is None or not has_points(system):
        curves = [np.stack([t, column], axis=1) for column in q.T[:FEW]]
        return drawn(fitted(curves, False), [], [])
    places = flattened(points_of(system, t, q))
    origin = flattened(np.zeros((1, 1, points_of(system, t[:1], q[:1]).shape[2])))[0]
    bars = checked_bars(system.bars, places.shape[1])
    moment = int(MOMENT * len(t))
    ends = np.concatenate([places[moment], origin])
    lines = [np.stack([ends[-1 if end is None else end] for end in bar]) for bar in bars]
    corners = corners_of(system, t[moment : moment + 1], q[moment : moment + 1])
    outline = [] if corners is None else [flattened(corners)[0][[*face, *face[:1]]] for face in system.faces]
    moving = [k for k in range(places.shape[1]) if np.ptp(places[:, k], axis=0).max() > 1e-9]
    shown = moving if len(moving) <= FEW else moving[-1:]
    parts = fitted([places[:, k] for k in shown] + lines + outline + [places[moment]], True)
    first, last = len(shown), len(shown) + len(lines)
    return drawn(parts[:first], parts[first:last], list(parts[-1]), parts[last:-1])


def flattened(points: np.ndarray) -> np.ndarray:
    """Points in space as seen from in front, above and a little from the side."""
    if points.shape[-1] == 2:
        return points
    x, y, z = np.moveaxis(points, -1, 0)
    return np.stack([0.86 * x + 0.5 * y, 0.94 * z - 0.17 * x + 0.29 * y], axis=-1)


def fitted(parts: list[np.ndarray], equal: bool) -> list[np.ndarray]:
    """The parts in the coordinates of the picture."""
    everything = np.concatenate(parts)
    low, high = everything.min(axis=0), everything.max(axis=0)
    span = np.maximum(high - low, 1e-3 * max(np.max(high - low), 1e-9))
    scale = np.array([WIDTH - 2 * ROOM, HEIGHT - 2 * ROOM]) / span
    scale = np.full(2, scale.min()) if equal else scale
    middle = (low + high) / 2
    return [np.array([WIDTH, HEIGHT]) / 2 + (part - middle) * scale * [1, -1] for part in parts]


def drawn(paths: list[np.ndarray], lines: list[np.ndarray], dots: list[np.ndarray], faces: Sequence = ()) -> str:
    """The picture as SVG."""
    parts = [
        f'<polygon points="{text(face[:-1])}" fill="#8fa8c6" fill-opacity="0.6" stroke="#56616b" stroke-width="1.4"/>'
        for face in faces
    ]
    parts += [
        f'<polyline points="{text(path)}" fill="none" stroke="{COLOURS[k % len(COLOURS)]}" stroke-width="1.2" '
        'stroke-opacity="0.55" stroke-linejoin="round"/>'
        for k, path in enumerate(paths)
    ]
    parts += [f'<polyline points="{text(line)}" stroke="#3c464e" stroke-width="2.2" fill="none"/>' for line in lines]
    size = 4 if len(dots) <= FEW else 2.2
    parts += [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{COLOURS[k % len(COLOURS)]}"/>'
        for k, (x, y) in enumerate(dots)
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
    return head + "\n" + "\n".join(parts) + "\n</svg>\n"


def text(places: np.ndarray) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


if __name__ == "__main__":
    main(sys.argv[1:])
