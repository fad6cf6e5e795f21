"""Runs whose step sizes are chosen by the error; `step_sizes.py` has the rule."""

from __future__ import annotations

import time

import numpy as np

from ..arguments import interval
from ..engine import NOT_CONVERGED, OK, Interruption
from ..errors import InputError, MethodDoesNotFit
from ..method import Method, MoreauJean, SchatzmanPaoli
from ..problem import AbstractSystem
from .options import Given, Options, check_room
from .prologue import Prepared, begin
from .run import Run, Status, interrupted_after, ok_after
from .step_sizes import SMALLEST_FACTOR, Adaptive

#: A step size below this part of the interval is given up.
SMALLEST_PART = 1e-14
#: A contact impulse below this part of the momenta is roundoff.
NO_IMPULSE = 1e-12


def run_adaptive_steps(system: AbstractSystem, method: Method, given: Given, options: Options, h: Adaptive) -> Run:
    """Take steps of the sizes that the error allows."""
    if not isinstance(method, MoreauJean | SchatzmanPaoli):
        raise MethodDoesNotFit(
            f"da.Adaptive is for da.MoreauJean() and da.SchatzmanPaoli(), not {type(method).__name__}: "
            "structure is kept with one step size. Give a number h."
        )
    (t0, t1), save_every = interval(options.t), options.save_every
    if not isinstance(save_every, int) or save_every != 1:
        raise InputError(f"with da.Adaptive every accepted state is saved; save_every must be 1, got {save_every!r}.")
    start = begin(system, method, given, options, t0)
    check_room((t1 - t0) / h.h_max, start.layout.n_state)
    prepared = Prepared.of(system, method, start, options, t0, h.h0)
    runner, layout, state, parameters = prepared.runner, prepared.layout, prepared.state, prepared.parameters
    begun = time.perf_counter()
    n, impulses = layout.n, slice(layout.n_state - layout.sizes[-1], None)
    momenta = slice(n, 2 * n)
    counts = {"accepted": 0, "rejected": 0, "force_evaluations": 0}

    def taken(carry, now: float, size: float):
        known = np.zeros_like(carry.known)  # a step of another size than the last starts from the method's own guess
        chunk = runner.run(carry._replace(step=np.array(0), known=known), now, size, 1, 1, parameters, 1)
        counts["force_evaluations"] += int(chunk.iterations.sum())
        return chunk

    carry, now, size = runner.first_carry(state), t0, min(h.h0, t1 - t0)
    times, saved, sizes, iterations = [t0], [state], [], []
    status = None
    with Interruption() as interruption, options.bar(1000) as report:
        try:
            while now < t1 and not interruption.wanted:
                last = now + size >= t1 - SMALLEST_PART * (t1 - t0)
                size = t1 - now if last else size
                before = counts["force_evaluations"]
                whole, first = (
                    interruption.call(taken, carry, now, size),
                    interruption.call(taken, carry, now, size / 2),
                )
                second = first
                if first.status == OK:
                    second = interruption.call(taken, first.carry, now + size / 2, size / 2)
                failed = max(whole.status, second.status) != OK
                ends = [np.asarray(chunk.carry.state) for chunk in (whole, first, second)]
                impact = any(np.max(np.abs(end[impulses])) > NO_IMPULSE * np.max(np.abs(end[momenta])) for end in ends)
                error = np.inf if failed else h.error(saved[-1][:n], ends[0][:n], ends[2][:n])
                if error > 1:
                    counts["rejected"] += 1
                    size = SMALLEST_FACTOR * size if failed else h.next_size(size, error, impact)
                    if size < SMALLEST_PART * (t1 - t0):
                        status = _given_up(counts["accepted"], now, size, failed)
                        break
                    continue
                counts["accepted"] += 1
                carry, now = second.carry, t1 if last else now + size
                row = ends[2].copy()
                row[impulses] += ends[1][impulses]
                times.append(now)
                saved.append(row)
                sizes.append(size)
                iterations.append(counts["force_evaluations"] - before)
                size = h.next_size(size, error, impact)
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
        counted=counts["force_evaluations"],
        wall_seconds=time.perf_counter() - begun,
        more=counts,
    )


def _given_up(steps: int, now: float, size: float, failed: bool) -> Status:
    why = "Newton does not converge" if failed else "the error stays above the tolerance"
    return Status(
        NOT_CONVERGED, steps, now,
        f"step {steps + 1} (from t = {now:.6g}) failed: h has sunk to {size:.3g} because {why}. Use larger atol and "
        "rtol, or check the model near this state.",
    )  # fmt: skip
