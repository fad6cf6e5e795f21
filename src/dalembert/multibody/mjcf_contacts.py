"""Contacts of a compiled MJCF model: which geoms may touch, with which friction.

MuJoCo looks at the pairs of `<contact><pair>`, and at all pairs of geoms whose types and affinities meet and whose
bodies are neither welded to each other, nor parent and child, nor excluded. Friction, where a pair does not state it,
is that of the geom of higher priority, or the larger one. Contacts are rigid here: there is a restitution in place of
`solref` and `solimp`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .touching import KNOWN

#: What `ignore` may name: all contacts, or those between two bodies that both move.
ALL, BETWEEN_BODIES = "contact", "contact between bodies"
#: The order of a pair that `Multibody.contact` knows.
_KINDS = {frozenset(pair) for pair in KNOWN}


class GeomPair(NamedTuple):
    """Two geoms that may touch."""

    first: int
    second: int
    friction: float
    margin: float
    #: 1 without friction, 3 with sliding friction, 4 and 6 with torsional and rolling friction as well.
    dimensions: int


def geom_pairs(mujoco: Any, m: Any) -> list[GeomPair]:
    """The pairs that MuJoCo looks at."""
    if m.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT):
        return []
    found = [
        GeomPair(
            int(m.pair_geom1[k]), int(m.pair_geom2[k]), float(m.pair_friction[k, 0]), float(m.pair_margin[k]),
            int(m.pair_dim[k]),
        )
        for k in range(m.npair)
    ]  # fmt: skip
    stated = {frozenset(pair[:2]) for pair in found}
    for a in range(m.ngeom):
        for b in range(a + 1, m.ngeom):
            if frozenset((a, b)) not in stated and _may_touch(mujoco, m, a, b):
                found.append(_mixed(m, a, b))
    return found


def _may_touch(mujoco: Any, m: Any, a: int, b: int) -> bool:
    meets = (m.geom_contype[a] & m.geom_conaffinity[b]) or (m.geom_contype[b] & m.geom_conaffinity[a])
    i, k = sorted((int(m.geom_bodyid[a]), int(m.geom_bodyid[b])))
    weld = m.body_weldid
    if not meets or weld[i] == weld[k] or ((i << 16) + k) in {int(s) for s in m.exclude_signature}:
        return False
    filtered = not m.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    above = {int(weld[m.body_parentid[weld[body]]]) for body in (i, k) if weld[body]} if filtered else set()
    related = weld[i] and weld[k] and (int(weld[i]) in above or int(weld[k]) in above)
    return not related


def _mixed(m: Any, a: int, b: int) -> GeomPair:
    """Friction of two geoms: that of the higher priority, or the larger one."""
    priority = m.geom_priority[[a, b]]
    leading = [a, b] if priority[0] == priority[1] else [(a, b)[int(np.argmax(priority))]]
    return GeomPair(
        a, b, float(np.max(m.geom_friction[leading, 0])), float(np.max(m.geom_margin[[a, b]])),
        int(np.max(m.geom_condim[leading])),
    )  # fmt: skip


def read_contacts(reader: Any, model: Any, restitution: float) -> None:
    """The contacts of the compiled model, in terms of `Multibody.contact`; what is not known is named."""
    m, pairs = reader.m, geom_pairs(reader.mujoco, reader.m)
    if ALL in reader.ignore:
        if pairs:
            reader.lacks(ALL, f"{len(pairs)} pairs of geoms could touch")
        return
    made = 0
    for pair in pairs:
        names = [reader.name("geom", g) for g in pair[:2]]
        where = " and ".join(names)
        if all(m.body_weldid[m.geom_bodyid[g]] for g in pair[:2]) and BETWEEN_BODIES in reader.ignore:
            continue
        ends = [reader.surface(model, g) for g in pair[:2]]
        kinds = [reader.geom_kind(g) for g in pair[:2]]
        if None in ends or frozenset(kinds) not in _KINDS:
            reader.lacks(f"contact of {' and '.join(sorted(kinds))}", where)
            continue
        if pair.dimensions > 3 and np.any(m.geom_friction[list(pair[:2]), 1:]):
            reader.lacks("torsional and rolling friction", where)
        if pair.margin:
            reader.lacks("margin of a contact", where)
        friction = pair.friction if pair.dimensions > 1 else 0.0
        if kinds[0] == "Plane":
            ends, names = ends[::-1], names[::-1]
        model.contact(*ends, friction=friction, restitution=restitution, name=f"{names[0]} on {names[1]}")
        made += 1
    if made:
        reader.remarks.append(
            f"{made} contacts are rigid here, with the restitution {restitution:g} and without solref and solimp"
        )
    if BETWEEN_BODIES in reader.ignore:
        reader.remarks.append(f"left out: {BETWEEN_BODIES}")
