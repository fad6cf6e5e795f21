"""The values of a checkpoint: a checksum says that they are as they were written, not by whom.

What compiled code takes as an index or a count has to be in its range; what the run goes on with has to be finite, and
to agree with the rows that are in the store.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from ..engine import HISTORY, STATUS, Carry
from ..problem import State
from ..stepping import EVENT_PREFIX, MODE_PREFIX
from ..stepping.event_run import KIND as EVENTS
from ..stepping.events import KINDS
from ..stepping.loop import Plan
from .store import Checkpoint, Store
from .store_files import Damaged

#: What compensated summation carries along is roundoff: it is far below the size of the state.
LARGEST_COMPENSATION = 1e-6
#: Parts of a motion through events that have names.
_PARTS_OF_EVENTS = ("moment", "open", "counts", "chunks", "events", "modes", "pieces")
#: Nothing that a run counts is more.
MOST = 1 << 53


def check_carry(carry: Carry, fresh: Carry, step: int, failed: bool) -> None:
    """Refuse a carry that no run of this kind has after so many steps; `fresh` is the one before the first step. What
    Newton left behind in a step that failed may be anything."""
    found, expected = ([(x.shape, x.dtype) for x in jax.tree.leaves(c)] for c in (carry, fresh))
    if found != expected or int(carry.step) != step:
        raise Damaged("the carry does not fit")
    numbers = carry.state, carry.compensation, *(() if failed else (carry.history, carry.contraction))
    if not all(np.all(np.isfinite(part)) for part in numbers):
        raise Damaged("the carry is not finite")
    known = np.asarray(carry.known)
    if np.any(known < 0) or np.any(known > min(step, HISTORY)):
        raise Damaged("the carry knows more solutions than there were")
    if not failed and np.any(np.asarray(carry.contraction) < 0):
        raise Damaged("the carry has a negative rate of convergence")
    size = max(np.max(np.abs(carry.state), initial=0.0), 1.0)
    if np.max(np.abs(carry.compensation), initial=0.0) > LARGEST_COMPENSATION * size:
        raise Damaged("the carry has a compensation that is no roundoff")


def check_state(state: State, store: Store, states: int) -> None:
    """Refuse a carry whose state is not the last one that was saved."""
    names = {"q": state.q, "v": state.v, "p": state.p, "raw_lam": state.lam, "raw_psi": state.psi}
    for name, part in names.items():
        if name not in store.columns:
            continue
        if store.row(name, states - 1).tobytes() != np.ascontiguousarray(part, np.float64).tobytes():
            raise Damaged(f"the carry is not at the last saved {name}")


def check_condition(condition: Any, fresh: Any, plan: Plan, n_state: int, constraints: int) -> None:
    """Refuse a condition of the compiled steps that no run has; `fresh` is the one before the first step. Of dependent
    constraints it tells too which are imposed, and since which state; of event capturing where the motion is."""
    if isinstance(fresh, dict) and fresh.get("kind") == EVENTS:
        _check_event_condition(condition, fresh, plan)
        return
    if isinstance(fresh, dict):
        rows = condition["rows"]
        if set(condition) != set(fresh) or len({_count(row, constraints - 1) for row in rows}) != len(rows):
            raise Damaged("its imposed constraints are not some of those of the system")
        own = n_state - constraints + len(rows)
        _check_place(condition, plan, {own, n_state})
        if not 0 <= float(condition["speed"]) < np.inf:
            raise Damaged("its speed is none")
        _count(condition["changes"], MOST)
        n_state, condition, fresh = own, condition["steps"], fresh["steps"]
    for entry, first in zip(condition, fresh, strict=True):
        if set(entry) != set(first) or set(entry["mended"]) != set(first["mended"]):
            raise Damaged("it holds other things than pivots and counts")
        for count in entry["mended"].values():
            _count(count, MOST)
        pivots = entry["pivots"]
        if pivots is None:
            continue
        if set(pivots) != {"state", "t", "h", "seed"} or not 0 < abs(float(pivots["h"])) <= 1e3 * plan.h:
            raise Damaged("its pivots were chosen for no step of this run")
        _check_place(pivots, plan, {n_state})
        if _count(pivots["seed"], plan.steps + 1) == 0:
            raise Damaged("its pivots have no number")


def _check_event_condition(condition: Any, fresh: Any, plan: Plan) -> None:
    """Refuse a motion through events that no run has."""
    if set(condition) != set(fresh) or any(set(condition[name]) != set(fresh[name]) for name in _PARTS_OF_EVENTS):
        raise Damaged("it holds other things than a motion through events")
    now, first = condition["moment"], fresh["moment"]
    for name, value in first.items():
        found = np.asarray(now[name], dtype=np.float64)
        if found.shape != np.shape(value) or not np.all(np.isfinite(found)):
            raise Damaged(f"its {name} is none of this run")
    if not plan.t0 - plan.h <= float(now["t"]) <= plan.t0 + (plan.steps + 1) * plan.h:
        raise Damaged("it holds a time outside the run")
    for count in (*condition["counts"].values(), *condition["chunks"].values(), condition["open"]["iterations"]):
        _count(count, MOST)
    contacts = len(first["fastest"])
    for part, prefix in (("events", EVENT_PREFIX), ("modes", MODE_PREFIX)):
        arrays = {name: np.asarray(values) for name, values in condition[part].items()}
        if len({len(values) for values in arrays.values()}) != 1 or not np.all(np.isfinite(arrays[f"{prefix}time"])):
            raise Damaged(f"its {part} do not fit each other")
    events = condition["events"]
    for name, most in ((f"{EVENT_PREFIX}contact", contacts), (f"{EVENT_PREFIX}kind", len(KINDS))):
        values = np.asarray(events[name])
        if values.dtype.kind != "i" or np.any(values < 0) or np.any(values >= most):
            raise Damaged("it holds events of no contact, or of no kind")
    for piece in condition["pieces"]["made"]:
        if np.shape(piece["y"]) != np.shape(first["y"]) or np.shape(piece["modes"]) != np.shape(first["modes"]):
            raise Damaged("its pieces were compiled for another run")


def _check_place(entry: dict[str, Any], plan: Plan, sizes: set[int]) -> None:
    """Refuse a state and a time at which the run cannot have been; parts of a composition leave the interval a bit."""
    state, span = np.asarray(entry["state"], dtype=np.float64), plan.steps * plan.h
    if state.ndim != 1 or state.size not in sizes or not np.all(np.isfinite(state)):
        raise Damaged("it holds no state of this run")
    if not plan.t0 - span <= float(entry["t"]) <= plan.t0 + 2 * span:
        raise Damaged("it holds a time outside the run")


def check_counts(body: dict[str, Any], plan: Plan, last: Checkpoint) -> None:
    """Refuse counts and a status that do not belong to so many steps."""
    if last.step > plan.steps or last.states != last.step // plan.save_every + 1:
        raise Damaged("its steps and its states do not fit each other")
    if _count(body["status"], max(STATUS)) not in STATUS or _count(body["halved"], last.step) > last.step:
        raise Damaged("its status does not exist")
    for name in ("iterations", "worst"):
        counts = [body[name]["total"], *body[name]["open"]]
        for count in counts:
            _count(count, MOST)
        if len(counts) - 1 != last.step % plan.save_every // plan.stride:
            raise Damaged(f"its {name} are not those of the steps since the last saved state")
    seconds = float(body["stats"]["wall_seconds"])
    if not 0 <= seconds < 1e12:
        raise Damaged("its time is none")


def _count(value: Any, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise Damaged("a count is out of its range")
    return value
