"""Holonomic constraints that depend on each other: some rows are imposed in a step, all of them are tested after it.

Let G = g_q (m x n) have the rank r < m along the motion, W^T G = 0 with d = m - r columns of W. A set R of r rows
determines the motion, G_R has full rank, as long as the d x d minor of W that belongs to the other rows does not
vanish. Along a motion it does vanish now and then, since W turns with it; next to such an instant the equations with
G_R are ill-conditioned, and beyond it their solution may leave g = 0 through the rows that are not in R. Therefore

- R is chosen by a pivoted QR decomposition of G^T, rows scaled to length 1, and chosen anew where the smallest
  singular value of G_R has fallen far below the one that another choice has;
- after every step all rows of g, and of g_q v + g_t where the method claims it, are compared with the size of their
  terms. Where one of them is violated, the step is taken again with rows chosen anew at the last good state; where
  that does not help, the run ends there.

To everything outside, states have the multipliers of all m rows, zero for those that are not in R: the reaction
G^T lam is the same, and `run.lam` are the multipliers of least norm with that reaction.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.linalg

from ..engine import LEFT_CONSTRAINTS, OK, Carry, Chunk, Runner, StepFunctions, is_wanted
from ..method import Method
from ..problem import AbstractSystem
from .scales import constraints_at, hidden_at, relative, row_names
from .shared_equations import equation, multipliers, observe
from .step import Layout, assemble

#: So many steps are taken before all rows are tested; where one is violated, the step at fault is found among them.
TESTED_STEPS = 16
#: Rows are chosen anew where their smallest singular value is less than this part of what another choice has.
WORSE = 0.1
#: A constraint that a step violates by more than this, relative to the size of its terms, is not imposed.
LEFT = 1e-8


def scaled_gradients(system: AbstractSystem, t: float, q: np.ndarray) -> np.ndarray:
    """g_q with rows of length 1 (or zero)."""
    dense = equation(system, "constraint")(q, t)[1].toarray()
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    return dense / np.where(lengths > 0, lengths, 1.0)


def independence(gradients: np.ndarray, rows) -> float:
    """The smallest singular value of the rows: 1 at right angles, 0 where they depend on each other."""
    return float(np.linalg.svd(gradients[list(rows)], compute_uv=False)[-1])


def better_rows(gradients: np.ndarray, rows: tuple[int, ...], worse: float = WORSE) -> tuple[int, ...]:
    """As many rows, others if those given are much less independent than they."""
    _, order = scipy.linalg.qr(gradients.T, mode="r", pivoting=True)  # pyright: ignore
    new = tuple(sorted(int(row) for row in order[: len(rows)]))
    return new if independence(gradients, rows) < worse * independence(gradients, new) else rows


def rows_along(system: AbstractSystem, rows: tuple[int, ...], t, q) -> Iterator[tuple[slice, tuple[int, ...]]]:
    """Pieces of consecutive states of a run, each with independent rows."""
    flat, first = _gradients(system, t, q), 0
    lengths = np.linalg.norm(flat, axis=2, keepdims=True)
    flat = flat / np.where(lengths > 0, lengths, 1.0)
    for k, gradients in enumerate(flat):
        new = better_rows(gradients, rows)
        if new != rows:
            if k > first:
                yield slice(first, k), rows
            rows, first = new, k
    yield slice(first, len(t)), rows


def restricted(system: AbstractSystem, t, q, lam: np.ndarray, rows: tuple[int, ...]) -> np.ndarray:
    """The multipliers of some rows, out of those of all, with the same reaction."""
    lam = np.asarray(lam)
    kept = list(rows)
    if not np.any(np.delete(lam, kept)):
        return lam[kept]
    gradients = equation(system, "constraint")(q, t)[1].toarray()
    return np.linalg.lstsq(gradients[kept].T, gradients.T @ np.asarray(lam, np.float64), rcond=None)[0]


def good_steps(
    system: AbstractSystem, method: Method, layout: Layout, t: np.ndarray, states: np.ndarray, speed: float = 0.0
) -> tuple[int, str]:
    """How many of the states, from the first on, satisfy all constraints at the levels that the method claims; and
    what the first that does not violates. `speed` is the largest one that the run has seen."""
    n, finding = layout.n, ""
    q, p, v = (states[:, k * n : (k + 1) * n] for k in range(3))
    found = constraints_at(system, float(t[0]), q[0])
    tests = [("all constraints", "position", found.scales)]
    if "velocity" in method.claims.constraints:
        fastest = max(speed, float(np.max(np.abs(v))))
        tests.append(("all hidden", "velocity", hidden_at(found, v[0], fastest)[1]))
    good = len(states)
    for what, level, scales in tests:
        values = observe(system, what, t, q, v, p)
        bad = ~(np.abs(values) <= LEFT * scales)
        if np.any(bad[:good]):
            good = int(np.argmax(np.any(bad, axis=1)))
            parts = relative(values[good], scales)
            worst = int(np.argmax(np.where(np.isfinite(parts), parts, np.inf)))
            finding = f"{row_names([worst])} is violated at {level} level by {values[good, worst]:.3g}"
    return good, finding


def redundant_multipliers(
    system: AbstractSystem, rows: tuple[int, ...], t, q, v, p, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """lam and psi of the continuous equations at the states of a run, lam of `count` rows: zero for those left out."""
    states = [np.asarray(part, dtype=np.float64) for part in (t, q, v, p)]
    pieces = []
    for piece, kept in rows_along(system, rows, *states[:2]):
        found = multipliers(system, kept, *(part[piece] for part in states))
        lam = np.zeros((len(found), count))
        lam[:, list(kept)] = found[:, : len(kept)]
        pieces.append((lam, found[:, len(kept) :]))
    lam, psi = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
    return lam, psi


def least_norm(system: AbstractSystem, t, q, lam) -> np.ndarray:
    """The multipliers of least norm with the reaction G^T lam, at the states of a run."""
    gradients = _gradients(system, t, q)
    reaction = np.einsum("kij,ki->kj", gradients, np.asarray(lam, dtype=np.float64))
    return np.einsum("kij,kj->ki", np.linalg.pinv(gradients.transpose(0, 2, 1), rcond=1e-10), reaction)


def _gradients(system: AbstractSystem, t, q) -> np.ndarray:
    """g_q at the states of a run, (N, m, n)."""
    t, q = np.asarray(t, dtype=np.float64), np.asarray(q, dtype=np.float64)
    zeros = np.zeros_like(q)
    return observe(system, "gradients", t, q, zeros, zeros).reshape(len(t), -1, q.shape[1])


class RedundantRun(Runner):
    """A runner for states with the multipliers of all rows."""

    def __init__(
        self, system: AbstractSystem, method: Method, layout: Layout, rows: tuple[int, ...], t0: float,
        state: np.ndarray, build: Callable[[StepFunctions, np.ndarray, float], Runner],
    ) -> None:  # fmt: skip
        """`layout` and `state` have the multipliers of `rows` only; `build` makes an engine's runner from steps, a
        state and a time."""
        self._system, self._method, self._build = system, method, build
        self._inner_layout = layout
        self._all = equation(system, "constraint")(state[: layout.n], t0)[0].size
        self.layout = dataclasses.replace(layout, m=self._all)
        self._speed, self._changes, self.finding = 0.0, 0, ""
        self._use(rows, state, t0)
        self.chunk_steps = self._inner.chunk_steps

    def _use(self, rows: tuple[int, ...], state: np.ndarray, t: float) -> None:
        self.rows, self._began = rows, (np.array(state, dtype=np.float64), t)
        self.functions = assemble(self._system, self._method, self._inner_layout, rows)
        self._inner = self._build(self.functions, *self._began)

    def mend(self, wanted: bool) -> None:
        self._inner.mend(wanted)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def condition(self) -> dict[str, Any]:
        """What a run that goes on in another process needs besides its carry."""
        state, t = self._began
        return {
            "rows": list(self.rows), "state": state, "t": t, "speed": self._speed, "changes": self._changes,
            "steps": self._inner.condition,
        }  # fmt: skip

    def restore(self, condition: dict[str, Any], parameters: np.ndarray) -> None:
        """Bring a runner that was built at the start of the run into the condition in which the other one was."""
        rows = tuple(int(row) for row in condition["rows"])
        if rows != self.rows:
            self._use(rows, np.asarray(condition["state"], dtype=np.float64), float(condition["t"]))
        self._speed, self._changes = float(condition["speed"]), int(condition["changes"])
        self._inner.restore(condition["steps"], parameters)

    def way_back(self) -> Callable[[], None]:
        kept, inner = dict(vars(self)), self._inner.way_back()

        def back() -> None:
            vars(self).update(kept)
            inner()

        return back

    def report(self) -> dict:
        return {**self._inner.report(), "imposed_rows": len(self.rows), "row_changes": self._changes}

    # -- between states with all multipliers and with those of the rows in use -----------------------------------

    def first_carry(self, state: np.ndarray) -> Carry:
        plain = self._plain_part(np.asarray(state))
        first = self._inner.first_carry(plain)
        return first._replace(state=np.array(state, dtype=np.asarray(first.state).dtype))

    def _parts(self, layout: Layout) -> tuple[slice, slice]:
        first = 3 * layout.n
        return slice(first, first + layout.m), slice(first + layout.m, None)

    def full(self, states: np.ndarray) -> np.ndarray:
        """States (or one) with the multipliers of all rows."""
        lam, rest = self._parts(self._inner_layout)
        whole = np.zeros((*states.shape[:-1], self._all), states.dtype)
        whole[..., list(self.rows)] = states[..., lam]
        return np.concatenate([states[..., : lam.start], whole, states[..., rest]], axis=-1)

    def _plain_part(self, state: np.ndarray) -> np.ndarray:
        """A state without the multipliers of other rows than those in use."""
        lam, rest = self._parts(self.layout)
        return np.concatenate([state[: lam.start], state[lam][list(self.rows)], state[rest]])

    def reduced(self, state: np.ndarray, t: float) -> np.ndarray:
        """A state at the time t with the multipliers of the rows in use: those with the same reaction."""
        state = np.asarray(state)
        lam, rest = self._parts(self.layout)
        kept = restricted(self._system, t, state[: self.layout.n], state[lam], self.rows)
        return np.concatenate([state[: lam.start], kept, state[rest]])

    # -- steps -----------------------------------------------------------------------------------------------------

    def run(self, carry: Carry, t0: float, h: float, steps: int, save_every: int, parameters, capacity: int) -> Chunk:
        """Take `steps` steps, saving after every `save_every`-th since the start of the run; every one is tested."""
        first, last = int(carry.step), int(carry.step) + steps
        saved, iterations, status, residual = [], [], OK, np.nan
        while status == OK and int(carry.step) < last and not is_wanted():
            todo = min(TESTED_STEPS, self._inner.chunk_steps, last - int(carry.step))
            chunk, status = self._tested(carry, t0, h, todo, parameters)
            carry, residual = chunk.carry, chunk.residual
            saved.append(chunk.saved)
            iterations.append(chunk.iterations)
        counts = np.concatenate([np.zeros(0, np.int64), *iterations])
        states = np.concatenate([np.zeros((0, self.layout.n_state)), *saved])
        numbers = first + 1 + np.arange(len(counts))
        ends = np.flatnonzero(numbers % save_every == 0)
        begins = np.concatenate([[0], ends[:-1] + 1]).astype(int) if len(ends) else ends
        used = counts[: ends[-1] + 1] if len(ends) else counts[:0]
        total, worst = (
            function.reduceat(used, begins).astype(np.int64) if len(ends) else used.astype(np.int64)
            for function in (np.add, np.maximum)
        )
        return Chunk(carry, states[ends], total, worst, status, residual)

    def _tested(self, carry: Carry, t0: float, h: float, steps: int, parameters) -> tuple[Chunk, int]:
        """Up to `steps` steps that keep all constraints, and rows for the next ones; the status if there are none."""
        start = carry
        for _ in range(2):
            chunk = self._plain(start, t0, h, steps, parameters)
            good = self._good_steps(start, chunk, t0, h)
            if good < len(chunk.saved):  # the same steps up to there once more: the same bits
                chunk = self._plain(start, t0, h, good, parameters) if good else _nothing(start, chunk)
                status = LEFT_CONSTRAINTS
            else:
                status = chunk.status
            now = t0 + int(chunk.carry.step) * h
            changed = self._choose(np.asarray(chunk.carry.state, dtype=np.float64), now, forced=status != OK)
            if changed:
                fresh = self.first_carry(chunk.carry.state)
                kept = {"compensation": chunk.carry.compensation, "step": chunk.carry.step}
                chunk = chunk._replace(carry=fresh._replace(**kept))
            if status == OK or (changed and good):
                return chunk, OK
            if not changed:
                return chunk, status
            start = chunk.carry
        return chunk, status

    def _plain(self, carry: Carry, t0: float, h: float, steps: int, parameters) -> Chunk:
        inner = carry._replace(state=self.reduced(carry.state, t0 + int(carry.step) * h))
        chunk = self._inner.run(inner, t0, h, steps, 1, parameters, steps)
        return chunk._replace(
            saved=self.full(np.asarray(chunk.saved)),
            carry=chunk.carry._replace(state=self.full(np.asarray(chunk.carry.state))),
        )

    def _good_steps(self, start: Carry, chunk: Chunk, t0: float, h: float) -> int:
        """How many of the steps end with all constraints satisfied."""
        states = np.asarray(chunk.saved, dtype=np.float64)
        if not len(states):
            return 0
        n = self.layout.n
        self._speed = max(self._speed, float(np.max(np.abs(states[:, 2 * n : 3 * n]))))
        t = t0 + h * (int(start.step) + 1 + np.arange(len(states)))
        good, found = good_steps(self._system, self._method, self.layout, t, states, self._speed)
        if found:
            self.finding = f"{found} where {len(self.rows)} of {self._all} constraints, the rank at the start, hold"
        return good

    def _choose(self, state: np.ndarray, t: float, *, forced: bool) -> bool:
        """Rows anew where others are more independent; after a failure already where they are twice as good."""
        gradients = scaled_gradients(self._system, t, state[: self.layout.n])
        rows = better_rows(gradients, self.rows, 0.5 if forced else WORSE)
        if rows == self.rows:
            return False
        self.rows = rows
        self._use(rows, self._plain_part(state), t)
        self._changes += 1
        return True


def _nothing(carry: Carry, chunk: Chunk) -> Chunk:
    """A chunk without steps."""
    none = np.zeros(0, np.int64)
    return Chunk(carry, chunk.saved[:0], none, none, OK, chunk.residual)
