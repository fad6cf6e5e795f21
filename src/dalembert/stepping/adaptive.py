"""Runs whose step sizes are chosen by the error; `step_sizes.py` has the rule."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ..arguments import interval
from ..engine import NOT_CONVERGED, OK, Carry, Interruption
from ..errors import InputError, MethodDoesNotFit
from ..method import Method, SchatzmanPaoli
from ..problem import AbstractSystem, DifferentialAlgebraicInequality
from .options import Given, Options, check_room
from .prologue import Prepared, begin
from .run import Run, Status, interrupted_after, ok_after
from .step_sizes import Adaptive

#: A step size below this part of the interval is given up.
SMALLEST_PART = 1e-14
#: A contact impulse below this part of the momenta is roundoff.
NO_IMPULSE = 1e-12
#: A step of a smooth method that Newton does not find is taken again, smaller; after so many failures in a row it is
#: something else than its size, and steps are mended as in other runs.
FEW_FAILURES = 4


class Attempt(NamedTuple):
    """One step against two halves: the carry and the state after the halves, the error in units of what is allowed
    (infinite where Newton failed), and the order p with which the next size follows from it."""

    carry: Carry
    row: np.ndarray
    error: float
    order: int


class _Steps:
    """Takes steps once whole and once in halves, and counts the iterations of all of them."""

    def __init__(self, prepared: Prepared, rule: Adaptive, smooth: bool) -> None:
        self._prepared, self._rule, self.smooth = prepared, rule, smooth
        self.evaluations, self._failures = 0, 0

    def attempt(self, carry: Carry, state: np.ndarray, now: float, size: float) -> Attempt:
        """One step of this size from `state` on, not yet accepted."""
        self._prepared.runner.mend(not self.smooth or self._failures >= FEW_FAILURES)
        whole, halves = self._taken(carry, now, size, 1), self._taken(carry, now, size / 2, 2)
        layout, end = self._prepared.layout, halves.carry
        failed = max(whole.status, halves.status) != OK
        self._failures = self._failures + 1 if failed else 0
        if failed:
            return Attempt(end, state, np.inf, 0)
        n, impulses = layout.n, slice(layout.n_state - layout.sizes[-1], None)
        one, first, second = np.asarray(whole.carry.state), halves.saved[0], np.asarray(end.state)
        row = np.array(second)
        row[impulses] += first[impulses]
        if self.smooth:
            order = self._prepared.method.claims.unequal_order or self._prepared.method.order
            begin, coarse, fine = (np.stack([x[:n], x[2 * n : 3 * n]]) for x in (state, one, second))
        else:
            hit = any(
                np.max(np.abs(x[impulses]), initial=0.0) > NO_IMPULSE * np.max(np.abs(x[n : 2 * n]))
                for x in (one, first, second)
            )
            order = int(self._rule.event_aware and not hit)
            begin, coarse, fine = (x[:n] for x in (state, one, second))
        return Attempt(end, row, self._rule.error(begin, coarse, fine, order), order)

    def _taken(self, carry: Carry, now: float, size: float, steps: int):
        known = np.zeros_like(carry.known)  # a step of another size than the last starts from the method's own guess
        begun = carry._replace(step=np.array(0), known=known)
        chunk = self._prepared.runner.run(begun, now, size, steps, 1, self._prepared.parameters, steps)
        self.evaluations += int(chunk.iterations.sum())
        return chunk

    def next_size(self, size: float, found: Attempt) -> float:
        """The size of the step that follows, or of the same step once more."""
        if not np.isfinite(found.error):
            return self._rule.alpha_min * size
        return self._rule.next_size(size, found.error, found.order, self.smooth)


def run_adaptive_steps(system: AbstractSystem, method: Method, given: Given, options: Options, h: Adaptive) -> Run:
    """Take steps of the sizes that the error allows."""
    if isinstance(method, SchatzmanPaoli):
        raise MethodDoesNotFit(
            "da.Adaptive does not fit SchatzmanPaoli: a contact that is penetrated is moved out within a step, by as "
            "much however small the step is, so that no size makes its error small. Use da.MoreauJean(), or give a "
            "number h."
        )
    (t0, t1), save_every = interval(options.t), options.save_every
    if not isinstance(save_every, int) or save_every != 1:
        raise InputError(f"with da.Adaptive every accepted state is saved; save_every must be 1, got {save_every!r}.")
    start = begin(system, method, given, options, t0)
    h.check_length(start.layout.n)
    check_room((t1 - t0) / h.h_max, start.layout.n_state)
    prepared = Prepared.of(system, method, start, options, t0, h.h0)
    steps = _Steps(prepared, h, method.smooth and not isinstance(system, DifferentialAlgebraicInequality))
    begun = time.perf_counter()
    carry, now, size = prepared.runner.first_carry(prepared.state), t0, min(h.h0, t1 - t0)
    times, saved, sizes, iterations = [t0], [prepared.state], [], []
    rejected, status = 0, None
    with Interruption() as interruption, options.bar(1000) as report:
        try:
            while now < t1 and not interruption.wanted:
                last = now + size >= t1 - SMALLEST_PART * (t1 - t0)
                size, before = t1 - now if last else size, steps.evaluations
                found = interruption.call(steps.attempt, carry, saved[-1], now, size)
                following = steps.next_size(size, found)
                if found.error > 1:
                    rejected, size = rejected + 1, following
                    if size < SMALLEST_PART * (t1 - t0):
                        status = _given_up(len(sizes), now, size, not np.isfinite(found.error))
                        break
                    continue
                carry, now = found.carry, t1 if last else now + size
                times.append(now)
                saved.append(found.row)
                sizes.append(size)
                iterations.append(steps.evaluations - before)
                size = following
                report(int(1000 * (now - t0) / (t1 - t0)))
        except KeyboardInterrupt:
            interruption.heard()
    if interruption.wanted:
        status = interrupted_after(len(sizes), now)
    counted = np.array(iterations, np.int64)
    return prepared.run(
        t=np.array(times),
        states=np.stack(saved),
        iterations=counted,
        worst=counted,
        status=ok_after(len(sizes), now) if status is None else status,  # one that says how it failed is false itself
        h=np.array(sizes).tolist(),
        counted=steps.evaluations,
        wall_seconds=time.perf_counter() - begun,
        more={"accepted": len(sizes), "rejected": rejected, "force_evaluations": steps.evaluations},
    )


def _given_up(steps: int, now: float, size: float, failed: bool) -> Status:
    why = "Newton does not converge" if failed else "the error stays above the tolerance"
    return Status(
        NOT_CONVERGED, steps, now,
        f"step {steps + 1} (from t = {now:.6g}) failed: h has sunk to {size:.3g} because {why}. Use larger atol and "
        "rtol, or check the model near this state.",
    )  # fmt: skip
