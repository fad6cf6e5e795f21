"""How far a mesh reaches, for pictures: STL files, binary or text."""

from __future__ import annotations

import pathlib

import numpy as np


def extents(file: pathlib.Path) -> tuple[np.ndarray, np.ndarray] | None:
    """The lowest and the highest corner of the box around a mesh; None if the file is no STL file."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    points = _binary(data)
    points = _text(data) if points is None else points
    if points is None or not len(points) or not np.all(np.isfinite(points)):
        return None
    return points.min(axis=0), points.max(axis=0)


def _binary(data: bytes) -> np.ndarray | None:
    """80 bytes of header, the number of triangles, then 50 bytes each: a normal, three corners, two bytes."""
    if len(data) < 84:
        return None
    count = int(np.frombuffer(data, "<u4", 1, 80)[0])
    if len(data) != 84 + 50 * count:
        return None
    triangles = np.frombuffer(data, np.dtype([("numbers", "<f4", 12), ("more", "<u2")]), count, 84)
    return triangles["numbers"][:, 3:].reshape(-1, 3).astype(np.float64)


def _text(data: bytes) -> np.ndarray | None:
    words = data.split()
    places = [k for k, word in enumerate(words) if word == b"vertex"]
    try:
        return np.array([[float(x) for x in words[k + 1 : k + 4]] for k in places]).reshape(-1, 3)
    except ValueError:
        return None
