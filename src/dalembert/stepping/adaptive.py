"""Step sizes chosen by the error: one step against two half steps (Acary 2012, equations (57) to (61)).

From a state, with q_1 after one step of the size h and q_1/2 after two of h/2::

    error = max_k |q_1/2,k - q_1,k| / (atol + rtol max(|q_0,k|, |q_1/2,k|))
    h_new = h min(5, max(1/2, (1 / error)^{1/r}))

A step with error <= 1 is accepted with q_1/2; else it is taken again with h_new. r is the order of the local error in
q: 1, that of a step with an impact, for all steps; or, event-aware, 1 in steps with contact impulses, 2 in the others.
Where the free motion is exact the error is zero, and only `h_max` keeps h from growing past the next impact.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ..arguments import flag, floats, interval, positive
from ..engine import NOT_CONVERGED, OK, Interruption, choose_engine
from ..errors import InputError, MethodDoesNotFit
from ..method import Method, MoreauJean, SchatzmanPaoli
from ..problem import AbstractSystem
from .consistent import is_traced, prepare_start
from .ensemble import batch_size
from .family import flat_parameters
from .progress import ProgressBar
from .redundant import runner_for
from .simulate import Run, Status, check_room, check_start, checked, interrupted_after

#: h changes by these factors at most.
SMALLEST_FACTOR, LARGEST_FACTOR = 0.5, 5.0
#: A step size below this part of the interval is given up.
SMALLEST_PART = 1e-14
#: A contact impulse below this part of the momenta is roundoff.
NO_IMPULSE = 1e-12


@dataclass(frozen=True)
class Adaptive:
    """Step sizes of `MoreauJean` by error control; give it to `simulate` as h.

    Attributes:
        atol, rtol: the error in q that a step may make, absolute and relative; numbers or one for each coordinate.
        h0: the first step size.
        h_max: the largest one.
        event_aware: count steps without contact impulses as one order better.
    """

    atol: float | tuple[float, ...]
    rtol: float | tuple[float, ...]
    h0: float
    h_max: float
    event_aware: bool = False

    def __post_init__(self) -> None:
        for name in ("h0", "h_max"):
            object.__setattr__(self, name, positive(f"{name} of Adaptive", getattr(self, name)))
        for name in ("atol", "rtol"):
            values = floats(f"{name} of Adaptive", getattr(self, name))
            if values.ndim > 1 or not values.size or not (np.all(np.isfinite(values)) and np.all(values >= 0)):
                raise InputError(f"{name} of Adaptive must be at least 0, got {getattr(self, name)!r}.")
            object.__setattr__(self, name, tuple(values.tolist()) if values.ndim else float(values))
        flag("event_aware of Adaptive", self.event_aware)
        if np.ndim(self.atol) and np.ndim(self.rtol) and np.shape(self.atol) != np.shape(self.rtol):
            raise InputError(f"atol and rtol of Adaptive must have one length, got {self.atol!r} and {self.rtol!r}.")
        if not np.all(np.asarray(self.atol) + np.asarray(self.rtol) > 0):
            raise InputError("atol and rtol of Adaptive must not both be 0.")
        if self.h0 > self.h_max:
            raise InputError(f"h0 of Adaptive must not exceed h_max = {self.h_max:g}, got {self.h0:g}.")

    def error(self, q0: np.ndarray, one: np.ndarray, halves: np.ndarray) -> float:
        """The size of q_1/2 - q_1 in units of what is allowed."""
        allowed = np.asarray(self.atol) + np.asarray(self.rtol) * np.maximum(np.abs(q0), np.abs(halves))
        return float(np.max(np.abs(halves - one) / np.maximum(allowed, np.finfo(np.float64).tiny)))

    def next_size(self, h: float, error: float, impact: bool) -> float:
        """h_new."""
        order = 1 if impact or not self.event_aware else 2
        factor = LARGEST_FACTOR if error == 0 else (1 / error) ** (1 / order)
        return min(self.h_max, h * min(LARGEST_FACTOR, max(SMALLEST_FACTOR, factor)))


def integrate_adaptive(
    system: AbstractSystem,
    method: Method,
    q0,
    v0=None,
    *,
    p0=None,
    t=(0.0, 1.0),
    h: Adaptive,
    save_every: int = 1,
    progress: bool = False,
    project: bool = False,
    redundant: str = "refuse",
    compensated: bool = True,
    engine: str = "auto",
    precision: str = "double",
) -> Run:
    """Take steps of the sizes that the error allows; see `dalembert.simulate` for the arguments."""
    system = checked(system, method, engine, precision)
    if not isinstance(method, MoreauJean | SchatzmanPaoli):
        raise MethodDoesNotFit(
            f"da.Adaptive is for da.MoreauJean() and da.SchatzmanPaoli(), not {type(method).__name__}: "
            "structure is kept with one step size. Give a number h."
        )
    t0, t1 = interval(t)
    if not isinstance(save_every, int) or save_every != 1:
        raise InputError(f"with da.Adaptive every accepted state is saved; save_every must be 1, got {save_every!r}.")
    if is_traced(system, q0, v0, p0) or batch_size(system, q0, v0, p0) is not None:
        raise InputError("da.Adaptive is for a single run with numbers; in a batch and under jit give one number h.")
    start = prepare_start(system, q0, v0, p0, t0, project=project, redundant=redundant)
    check_room((t1 - t0) / h.h_max, start.layout.n_state)
    check_start(system, method, t0, start)
    parameters = np.asarray(flat_parameters(system))
    begun = time.perf_counter()

    def build(functions, state, t):
        return choose_engine(
            functions, state, t, h.h0, parameters, compensated=compensated, engine=engine,
            extended=precision == "extended",
        )  # fmt: skip

    runner, layout, state = runner_for(system, method, start, t0, build)
    compiled = time.perf_counter()
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
    with Interruption() as interruption, ProgressBar(progress, 1000) as report:
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
    if status is None:  # one that says how the run failed is false in a condition
        status = Status(OK, len(sizes), now, f"ok: {len(sizes)} steps")
    return Run(
        system=system, method=method, layout=layout, rows=start.rows, t=np.array(times), states=np.stack(saved),
        iterations=np.array(iterations, np.int64), worst_iterations=np.array(iterations, np.int64),
        status=status, h=np.array(sizes).tolist(),
        stats={
            "engine": runner.name,
            "steps": len(sizes),
            **counts,
            "compile_seconds": compiled - begun,
            "wall_seconds": time.perf_counter() - compiled,
            "newton_iterations": counts["force_evaluations"],
        },
    )  # fmt: skip


def _given_up(steps: int, now: float, size: float, failed: bool) -> Status:
    why = "Newton does not converge" if failed else "the error stays above the tolerance"
    return Status(
        NOT_CONVERGED, steps, now,
        f"step {steps + 1} (from t = {now:.6g}) failed: h has sunk to {size:.3g} because {why}. Use larger atol and "
        "rtol, or check the model near this state.",
    )  # fmt: skip
