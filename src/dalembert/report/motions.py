"""The motions of the papers for the page: computed once, kept as files beside the experiments."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np

from ..papers import MOTIONS, Motion
from ..plots import write_atomically
from .records import code_identity

#: Coordinates are rounded to this part of the picture: finer than a screen shows.
RESOLUTION = 5e-5
#: Room around the motion, as a part of its size.
MARGIN = 0.05

#: By paper: the motions as the page's player reads them.
Motions = dict[str, dict[str, dict]]


def stored_motions(key: str, output: pathlib.Path) -> dict[str, dict] | None:
    """The motions of a paper, if files of this code hold all of them."""
    found = {f"{key}-{name}": _stored(_path(key, name, output)) for name in MOTIONS.get(key, {})}
    return {name: motion for name, motion in found.items() if motion} if all(found.values()) else None


def write_motions(key: str, output: pathlib.Path) -> dict[str, dict]:
    """Compute the motions of a paper and write them."""
    found = {}
    for name, make in MOTIONS[key].items():
        found[f"{key}-{name}"] = content = {"code": code_identity(), **for_player(make())}
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        path = _path(key, name, output)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, lambda part, text=text: part.write_text(text, encoding="utf-8"))
    return found


def _path(key: str, name: str, output: pathlib.Path) -> pathlib.Path:
    return output / "motions" / f"{key}-{name}.json"


def _stored(path: pathlib.Path) -> dict | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return content if content["code"] == code_identity() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def for_player(motion: Motion) -> dict[str, Any]:
    """A motion as plain numbers and words, with the box that holds it."""
    points = np.asarray(motion.points, dtype=float)
    count, dimension = points.shape[1:]
    everything = [points.reshape(-1, dimension), *motion.outlines]
    if any(end is None for pair in (*motion.bars, *motion.springs) for end in pair):
        everything.append(np.zeros((1, dimension)))
    low, high = (np.array([pick(x, axis=0) for x in everything]) for pick in (np.min, np.max))
    low, high = low.min(axis=0), high.max(axis=0)
    room = MARGIN * (float(np.max(high - low)) if motion.equal else high - low)
    digits = int(np.ceil(-np.log10(RESOLUTION * max(float(np.max(high - low)), 1e-300))))
    trailing = range(count) if motion.trailing is None else motion.trailing
    return {
        "title": motion.title,
        "caption": motion.caption,
        "names": list(motion.names),
        "labels": list(motion.labels[:dimension]),
        "end": float(motion.t[-1]),
        "seconds": motion.seconds,
        "equal": motion.equal,
        "low": np.round(low - room, digits).tolist(),
        "high": np.round(high + room, digits).tolist(),
        "bars": [list(pair) for pair in motion.bars],
        "springs": [list(pair) for pair in motion.springs],
        "outlines": [np.round(outline, digits).tolist() for outline in motion.outlines],
        "trails": [k in trailing for k in range(count)],
        "colours": list(motion.colours),
        "points": np.round(points, digits).tolist(),
    }
