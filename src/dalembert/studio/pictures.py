"""From runs to what a page draws: points and curves at common times, packed into one binary message.

A message is the length of a JSON header (four bytes, the lowest first), the header, and arrays of 32-bit floats whose
names, shapes and places the header gives. Differences such as E(t) - E(0) are formed in double precision before.
"""

from __future__ import annotations

import functools
import json
import struct
from typing import Any, NamedTuple

import numpy as np

from ..errors import DalembertError
from ..multibody import MultibodySystem, Spheres
from ..plots.forces import Wanted, arrows_of, forces_in, in_space
from ..plots.geometry import checked_bars
from ..plots.series import constrained
from ..problem import AbstractSystem
from ..trajectory import Trajectory, has_energy
from .computing import Computed, corners_of, has_points, points_of
from .exhibit import Exhibit
from .pulling import Picture

#: Times of which points and curves are sent: more than a screen has columns, less than slows it down.
MOST_TIMES = 1500
#: Coordinates of all points at all times that are sent: 8 MB.
MOST_PLACES = 2_000_000
#: Curves in one plot: more cannot be told apart.
MOST_CURVES = 8
#: Coordinates of a model of bodies up to which its multipliers are found.
MOST_COORDINATES = 100


class Curve(NamedTuple):
    """One curve of a plot."""

    plot: str
    name: str
    values: np.ndarray


#: The plots of a page in their order: key, title, whether the axis is logarithmic.
PLOTS = (
    ("energy", "energy error E - E(0)", False),
    ("constraint", "constraints", True),
    ("multiplier", "multipliers", False),
    ("invariant", "momenta and invariants, change", False),
    ("gap", "gaps", False),
    ("impulse", "contact impulses", False),
    ("coordinate", "coordinates", False),
)


def picture_message(exhibit: Exhibit, computed: Computed, number: int | None = None) -> bytes:
    """The message with everything but what takes long to find; by its number the run can be downloaded."""
    run = computed.run
    rows = shown_rows(run, exhibit)
    t = np.asarray(run.t, dtype=float)
    curves, remarks = _curves(run), [computed.remark] if computed.remark else []
    arrays: dict[str, np.ndarray] = {"t": t[rows]}
    drawn = exhibit.system if exhibit.run is not None else run.system
    scene = _run_scene(drawn, run, rows, arrays, "points")
    forces = _forces(computed, rows, arrays) if scene is not None else None
    remarks += forces.pop("remarks") if forces else []
    if computed.beside is not None:
        curves += [curve._replace(name=f"{curve.name} ({computed.request.beside})")
                   for curve in _curves(computed.beside, on=t) if curve.plot in ("energy", "constraint")]  # fmt: skip
        _run_scene(computed.beside.system, computed.beside, rows, arrays, "beside")
    for k, other in enumerate(computed.fan):
        _run_scene(other.system, other, rows, arrays, f"fan {k}")
    described = []
    for k, curve in enumerate(curves):
        arrays[f"curve {k}"] = _thinned(curve, rows)
        described.append({"plot": curve.plot, "name": curve.name, "array": f"curve {k}"})
    header = {
        "kind": "run",
        "number": number,
        "identity": computed.request.identity,
        "facts": facts_of(run),
        "status": "" if run.status else str(run.status),
        "remarks": remarks + list(run.warnings if run.system is None else ()),
        "curves": described,
        "scene": scene,
        "forces": forces,
        "fan": len(computed.fan),
        "beside": computed.request.beside if computed.beside is not None else None,
        "start": _start(computed),
    }
    return packed(header, arrays)


def pose_message(exhibit: Exhibit) -> bytes:
    """The scene at the start, which is shown until the first run is computed."""
    arrays: dict[str, np.ndarray] = {}
    system = exhibit.system
    if exhibit.run is not None:
        t, q = np.asarray(exhibit.run.t, float)[:1], np.asarray(exhibit.run.q, float)[:1]
    else:
        assert system is not None
        launch = exhibit.start(system)
        t, q = np.array([launch.t0]), np.asarray(launch.q0, float)[None]
    arrays["t"] = t
    return packed({"kind": "pose", "identity": 0, "scene": _scene(system, t, q, arrays, "points")}, arrays)


def live_message(identity: int, picture: Picture) -> bytes:
    """One moment of a live run, as the scene draws it."""
    energy = picture.energy if np.isfinite(picture.energy) else None
    header = {"kind": "live", "identity": identity, "t": picture.t, "energy": energy}
    corners = {} if picture.corners is None else {"outline points": in_space(picture.corners)}
    return packed(header, {"points": in_space(picture.points), **corners})


def invariants_message(exhibit: Exhibit, computed: Computed) -> bytes | None:
    """What takes longer: momenta that are found numerically, multipliers of models, what is doubtful about the run."""
    run = computed.run
    try:
        invariants, warnings = run.invariants, list(run.warnings)
    except DalembertError as reason:
        invariants, warnings = {}, [str(reason)]
    rows, arrays, described = shown_rows(run, exhibit), {}, []
    curves = [
        Curve("invariant", name if values.ndim == 1 else f"{name}[{k}]", column - column[0])
        for name, values in ((name, np.asarray(x, dtype=float)) for name, x in invariants.items())
        for k, column in enumerate(values.reshape(len(values), -1).T)
        if len(values)
    ]
    curves = curves[:MOST_CURVES]
    if isinstance(run.system, MultibodySystem) and any(constrained(run)):
        if run.q.shape[1] <= MOST_COORDINATES:
            curves += _multipliers(run)
        else:
            warnings.append("multipliers are left out, they take long in so large a model; reactions are the forces at "
                            "its joints.")  # fmt: skip
    for number, curve in enumerate(curves):
        arrays[f"later {number}"] = _thinned(curve, rows)
        described.append({"plot": curve.plot, "name": curve.name, "array": f"later {number}"})
    header = {"kind": "more", "identity": computed.request.identity, "curves": described, "remarks": warnings}
    return packed(header, arrays)


def shown_rows(run: Trajectory, exhibit: Exhibit) -> np.ndarray:
    """The numbers of the states that are sent: the first, the last, and evenly spread ones between them."""
    count, width = len(run.t), max(1, np.shape(run.q)[1])
    most = max(2, min(MOST_TIMES, MOST_PLACES // (3 * width)))
    return np.unique(np.round(np.linspace(0, count - 1, min(count, most))).astype(int))


def facts_of(run: Trajectory) -> dict[str, Any]:
    """The numbers beside the picture."""
    stats, t = run.stats, np.asarray(run.t)
    facts: dict[str, Any] = {
        "steps": int(stats.get("steps", len(t) - 1)),
        "states": len(t),
        "h": float(run.provenance["h"]),
        "begin": float(t[0]),
        "end": float(t[-1]),
        "seconds": float(stats.get("wall_seconds", 0.0)),
        "engine": str(stats.get("engine", "")),
        "method": str(run.provenance["method"]),
    }
    if has_energy(run):
        energy = np.asarray(run.energy)
        facts["energy"] = float(energy[0])
        facts["energy_error"] = float(np.max(np.abs(energy - energy[0])))
    if constrained(run)[0]:
        facts["constraint"] = float(np.max(run.constraint))
    return facts


def _start(computed: Computed) -> dict[str, list[float]]:
    if computed.call is not None:
        launch = computed.call.launch
        return {"q0": np.asarray(launch.q0, float).tolist(), "v0": np.asarray(launch.v0, float).tolist()}
    return {"q0": np.asarray(computed.run.q[0]).tolist(), "v0": np.asarray(computed.run.v[0]).tolist()}


# -- curves ----------------------------------------------------------------------------------------------------------


def _curves(run: Trajectory, on: np.ndarray | None = None) -> list[Curve]:
    """The curves of a run at its own times, or at those of another run."""
    found: list[Curve] = []
    if has_energy(run):
        energy = np.asarray(run.energy, dtype=float)
        found.append(Curve("energy", "E - E(0)", energy - energy[0]))
    if constrained(run)[0]:
        found.append(Curve("constraint", "max |g|", np.asarray(run.constraint, dtype=float)))
    if any(constrained(run)):
        found.append(Curve("constraint", "max |hidden|", np.asarray(run.hidden, dtype=float)))
    if not isinstance(run.system, MultibodySystem):
        found += _multipliers(run)
    if np.size(run.impulse):
        impulse = np.asarray(run.impulse, dtype=float)
        found += _columns("impulse", "R", impulse.reshape(len(impulse), -1))
        if run.system is not None:
            found += _columns("gap", "gap", run.gap)
    found += _columns("coordinate", "q", run.q)
    if on is None:
        return found
    t = np.asarray(run.t, dtype=float)
    return [curve._replace(values=np.interp(on, t, curve.values, right=np.nan)) for curve in found]


def _multipliers(run: Trajectory) -> list[Curve]:
    """The multipliers at the saved states. Those of a model of bodies are found anew, which takes longer than a run."""
    return _columns("multiplier", "λ", run.lam) + _columns("multiplier", "ψ", run.psi)


def _columns(plot: str, name: str, values) -> list[Curve]:
    """One curve for each of the first columns."""
    values = np.asarray(values, dtype=float)
    values = values.reshape(len(values), -1)
    indices = "₀₁₂₃₄₅₆₇₈₉"
    return [
        Curve(plot, name + "".join(indices[int(digit)] for digit in str(k)), column)
        for k, column in enumerate(values.T[:MOST_CURVES])
    ]


def _thinned(curve: Curve, rows: np.ndarray) -> np.ndarray:
    """The values that are sent; of a defect the largest since the row before, so that no peak is lost."""
    values = curve.values
    if len(rows) == len(values):
        return values
    if curve.plot in ("constraint", "impulse", "gap"):
        pick = np.minimum if curve.plot == "gap" else np.maximum
        return pick.reduceat(values, np.concatenate([[0], rows[:-1] + 1]))
    return values[rows]


# -- the scene -------------------------------------------------------------------------------------------------------


def _run_scene(system: AbstractSystem | None, run: Trajectory, rows: np.ndarray, arrays: dict[str, np.ndarray],
               name: str) -> dict[str, Any] | None:  # fmt: skip
    """The points of a run, which may have ended before others, into the arrays."""
    rows = rows[rows < len(run.t)]
    return _scene(system, np.asarray(run.t)[rows], np.asarray(run.q)[rows], arrays, name)


def _scene(system: AbstractSystem | None, t: np.ndarray, q: np.ndarray, arrays: dict[str, np.ndarray],
           name: str) -> dict[str, Any] | None:  # fmt: skip
    """The points of some states into the arrays, three coordinates each; None for a system that says nothing of
    points."""
    if system is None or not has_points(system):
        return None
    points = points_of(system, t, q)
    flat = points.shape[2] == 2
    points = arrays[name] = in_space(points)
    corners = corners_of(system, t, q)
    if corners is not None:
        arrays[f"outline {name}"] = in_space(corners)
    bars = checked_bars(system.bars, points.shape[1])
    return {
        "flat": flat,
        "bars": [list(bar) for bar in bars],
        "up": [0, 0, 1] if flat else _up(system),
        "solids": _solids(system.drawing) if isinstance(system, MultibodySystem) else [],
        "radii": _radii(system),
        "faces": [] if corners is None else [list(map(int, face)) for face in system.faces],
    }


def _radii(system: Any) -> list[float] | None:
    """The radius of the ball at each point, where the system says how large they are."""
    radii = system.radius if isinstance(system, Spheres) else system.ball_radii
    return None if radii is None else np.asarray(radii, dtype=float).tolist()


def _forces(computed: Computed, rows: np.ndarray, arrays: dict[str, np.ndarray]) -> dict[str, Any] | None:
    """The arrows of contacts and constraints that are wanted into the arrays; None where there are none.

    `usual` is the size that three of four of them stay below, by which the page finds a scale for all of them.
    """
    run, request = computed.run, computed.request
    wanted = Wanted(request.contacts, request.reactions)
    if run.system is None or not any(wanted):
        return None
    arrows = arrows_of(run, rows, points_of(run.system, np.asarray(run.t)[rows], np.asarray(run.q)[rows]), wanted)
    if arrows is None:
        return None
    for name in ("starts", "points", "places", "vectors", "kinds"):
        arrays[f"force {name}"] = getattr(arrows, name)
    size = np.linalg.norm(arrows.vectors, axis=1)
    return {
        "contacts": wanted.contacts and forces_in(run.system).contacts,
        "reactions": wanted.reactions and forces_in(run.system).reactions,
        "usual": float(np.quantile(size, 0.75)) if len(size) else 0.0,
        "largest": float(np.max(size, initial=0.0)),
        "remarks": list(arrows.remarks),
    }


def _up(system) -> list[float]:
    """Against gravity, where a model says where that points; else z."""
    gravity = getattr(system, "gravity", None)
    entries = getattr(gravity, "entries", None)
    if entries is None:
        return [0, 0, 1]
    down = np.array([float(x) for x in entries()])
    k = int(np.argmax(np.abs(down)))
    return [0, 0, 1] if not down[k] else [float(-np.sign(down[k])) if j == k else 0.0 for j in range(3)]


@functools.lru_cache(maxsize=16)
def _solids(drawing) -> list[list[list[int]]]:
    """The faces of every body with parts that enclose a volume, as triples of point numbers: the hulls of the parts."""
    from scipy.spatial import ConvexHull, QhullError

    solids: dict[int, list[list[int]]] = {}
    first = 0
    for body, points in drawing:
        places = np.array(points)
        try:
            hull = ConvexHull(places) if len(places) > 3 else None
        except QhullError:
            hull = None
        if hull is not None:
            inside = places[hull.vertices].mean(axis=0)
            faces = [_outward(places, face, inside, first) for face in hull.simplices.tolist()]
            solids.setdefault(body, []).extend(faces)
        first += len(points)
    return list(solids.values())


def _outward(places: np.ndarray, face: list[int], inside: np.ndarray, first: int) -> list[int]:
    """A face whose corners run anticlockwise seen from outside."""
    a, b, c = face
    turns = np.cross(places[b] - places[a], places[c] - places[a]) @ (places[a] - inside)
    return [first + k for k in ((a, b, c) if turns > 0 else (a, c, b))]


# -- packing ---------------------------------------------------------------------------------------------------------


def packed(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> bytes:
    """One binary message."""
    described, pieces, place = {}, [], 0
    for name, values in arrays.items():
        piece = np.ascontiguousarray(values, dtype="<f4")
        described[name] = {"shape": list(piece.shape), "place": place}
        pieces.append(piece.tobytes())
        place += piece.size
    text = json.dumps({**header, "arrays": described}, ensure_ascii=True, allow_nan=False, default=str).encode()
    text += b" " * (-len(text) % 4)
    return struct.pack("<I", len(text)) + text + b"".join(pieces)


def unpacked(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a message."""
    (length,) = struct.unpack_from("<I", message)
    header = json.loads(message[4 : 4 + length])
    numbers = np.frombuffer(message, dtype="<f4", offset=4 + length)
    arrays = {}
    for name, where in header["arrays"].items():
        size = int(np.prod(where["shape"]))
        arrays[name] = numbers[where["place"] : where["place"] + size].reshape(where["shape"])
    return header, arrays
