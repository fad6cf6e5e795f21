"""Which method, and which step size? A few that fit are measured on the motion itself.

First on a short piece of it: steps are halved until half of them change q by less than the tolerance allows for the
piece, so that the order, the error and the time of a step are known for every candidate. The quickest ones are then
run over the whole interval, if time allows, with their step size and with half of it: errors that grow faster than
linearly in time, as in chaotic motions, show only there.
"""

from __future__ import annotations

import html
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arguments import instance, interval, positive, shown
from ..engine import finish_compiling
from ..errors import DalembertError, InputError, MethodDoesNotFit
from ..method import (
    Composition,
    EventCapturing,
    Galerkin,
    Method,
    MoreauJean,
    Rattle,
    SymplecticEuler,
    Taylor,
    gauss_spark,
    lobatto_iiia,
    lobatto_spark,
    radau_iia,
)
from ..problem import AbstractSystem, prepared
from ..problem.starting import WithStart
from ..simulation import simulate
from ..stepping import cause_in_substeps, check_fit, consistent
from ..trajectory import Trajectory

#: Steps of the coarsest run over a piece, of methods of low and of high order, and the most that are tried. Steps that
#: are too large take long: they fail, and are mended one by one.
FIRST_STEPS, FIRST_STEPS_HIGH, HIGH_ORDER, MOST_STEPS = 32, 16, 6, 4096
#: A piece is so short that this many steps of the first candidate follow it to a hundredth, or four times as long.
PILOT_STEPS, PILOT_ERROR, PIECE_PARTS = 16, 1e-2, 4
#: More steps than this over the whole interval are not recommended: their roundoff alone is no longer small.
MOST_WHOLE = 10**9
#: Of the tolerance, the part that is aimed at: an estimate is none the less one.
SAFETY = 0.5
#: So many candidates are checked over the whole interval, and corrected so often.
CHECKED, CORRECTIONS = 2, 4
#: No tolerance below: errors of double precision are larger over any interval.
SMALLEST_TOLERANCE = 1e-13

HOLONOMIC = {
    "rattle": Rattle(),
    "rattle-sofroniou-spaletta6": Composition(Rattle(), "sofroniou-spaletta6"),
    "rattle-kahan-li8": Composition(Rattle(), "kahan-li8"),
    "galerkin-2": Galerkin(2),
    "galerkin-3": Galerkin(3),
    "galerkin-4": Galerkin(4),
}
#: For nonholonomic systems, and where the others do not fit.
GENERAL = {
    "lobatto-spark-2": lobatto_spark(2),
    "lobatto-spark-2-sofroniou-spaletta6": Composition(lobatto_spark(2), "sofroniou-spaletta6"),
    "lobatto-spark-2-kahan-li8": Composition(lobatto_spark(2), "kahan-li8"),
    "gauss-spark-2": gauss_spark(2),
    "gauss-spark-3": gauss_spark(3),
    "gauss-spark-4": gauss_spark(4),
}
#: They keep the constraints and nothing else, and are the quickest where the motion is smooth.
EXPLICIT = {"taylor-8": Taylor(8)}
OVERDETERMINED = {"symplectic-euler": SymplecticEuler()}
CONTACT = {
    "moreau-jean": MoreauJean(),
    "event-capturing-radau-3": EventCapturing(radau_iia(2)),
    "event-capturing-lobatto-6": EventCapturing(lobatto_iiia(4)),
}


@dataclass(frozen=True)
class Candidate:
    """One method with the step size it needs; `error` and `seconds` are estimates for the whole interval.

    `checked` says that they were measured over all of it and not continued from the piece. `note` is the reason where a
    method does not reach the tolerance; its `h` and `steps` are then those of the finest run.
    """

    name: str
    method: Method
    h: float
    steps: int
    error: float
    seconds: float
    checked: bool = False
    note: str = ""


@dataclass(frozen=True)
class Recommendation(Mapping[str, Any]):
    """The method and the step size that reach a tolerance in the least time, and what else was tried.

    As a mapping it holds `method` and `h`: `simulate(system, **choice, q0=q0, v0=v0, t=t)`.
    """

    method: Method
    h: float
    error: float
    seconds: float
    tolerance: float
    t: tuple[float, float]
    name: str
    checked: bool
    candidates: tuple[Candidate, ...]

    def __getitem__(self, key: str) -> Any:
        if key not in ("method", "h"):
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(("method", "h"))

    def __len__(self) -> int:
        return 2

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def rows(self) -> list[tuple[str, ...]]:
        """The table of candidates as text: name, h, steps, error, milliseconds, remark; the best first."""
        found = []
        for c in self.candidates:
            remark = c.note or ("checked" if c.checked else "estimated")
            found.append((c.name, f"{c.h:.4g}", str(c.steps), f"{c.error:.1e}", f"{1e3 * c.seconds:.3g}", remark))
        return found

    def __repr__(self) -> str:
        how = "checked over the whole interval" if self.checked else "continued from a short piece"
        head = (
            f"{self.method.name} with h = {self.h:.6g}: error about {self.error:.1e} (tolerance {self.tolerance:.1e}), "
            f"about {1e3 * self.seconds:.3g} ms for t = ({self.t[0]:g}, {self.t[1]:g}), {how}"
        )
        table = [HEADER, *self.rows()]
        widths = [max(len(row[k]) for row in table) for k in range(len(HEADER))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table
        ]
        return "\n".join([head, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        def line(cells, tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(line(row, "td") for row in self.rows())
        head = html.escape(repr(self).splitlines()[0])
        return f"<p>{head}</p><table><thead>{line(HEADER, 'th')}</thead><tbody>{body}</tbody></table>"


HEADER = ("method", "h", "steps", "error", "ms", "")


def recommend(
    system: AbstractSystem,
    tolerance: float,
    q0=None,
    v0=None,
    t: tuple[float, float] | None = None,
    *,
    p0=None,
    candidates: Mapping[str, Method] | None = None,
    seconds: float = 10.0,
) -> Recommendation:
    """Measure a few methods that fit the system, and return the quickest one with its step size.

    Args:
        system: what moves.
        tolerance: the largest error of a component of q at the end of the interval.
        q0, v0: the start, or p0 instead of v0; a system of the gallery brings its own.
        t: the interval (t0, t1); (0, 1) by default, or that of the system's own start.
        p0: the momentum at t0, instead of v0.
        candidates: methods by name to be measured instead of those chosen for the kind of system.
        seconds: what the measurements may take, compilation not counted; at least one method is always measured.

    Raises `InputError` where nothing reaches the tolerance.
    """
    instance("system", system, AbstractSystem, "a system such as da.gallery.Pendulum()")
    tolerance, budget = positive("tolerance", tolerance), positive("seconds", seconds)
    if tolerance < SMALLEST_TOLERANCE:
        raise InputError(f"tolerance must be at least {SMALLEST_TOLERANCE:g}, got {tolerance:g}.")
    if q0 is None:
        start = _own_start(system)
        q0, v0, p0 = start.q0, start.v0, None
        t = (0.0, float(start.t_end)) if t is None else t
    t0, t1 = interval((0.0, 1.0) if t is None else t)
    ready = prepared(system)
    start = consistent(ready, q0, v0, t0, p0=p0)  # refuses a wrong start before anything is compiled
    fitting = _fitting(ready, candidates)
    motion = _Motion(ready, q0, v0, p0, t0, t1, budget)
    piece = motion.piece_of(next(iter(fitting.values())))
    measured = []
    for k, (name, method) in enumerate(fitting.items()):
        until = budget * (k + 1) / len(fitting)
        try:
            found = motion.candidate(name, method, piece, tolerance, until)
            if cause_in_substeps(ready, method, t0, start, found.h):
                found = replace(found, note="its substeps go backwards through the damping")
            measured.append(found)
        except MethodDoesNotFit as refusal:  # it is known only when the step is translated
            if candidates is not None:
                raise
            reason = str(refusal).partition(". ")[0]
            measured.append(Candidate(name, method, np.nan, 0, np.inf, np.inf, note=f"does not fit: {reason}"))
    ranked = sorted(measured, key=_rank)
    for place in range(min(CHECKED, len(ranked))):
        if not ranked[place].note:
            ranked[place] = motion.checked(ranked[place], tolerance)
    ranked = sorted(ranked, key=_rank)
    best = ranked[0]
    if best.note:
        raise _none_suffices(ranked, tolerance, t0, t1)
    return Recommendation(
        best.method, best.h, best.error, best.seconds, tolerance, (t0, t1), best.name, best.checked, tuple(ranked)
    )


def _own_start(system: AbstractSystem):
    if not isinstance(system, WithStart):
        raise InputError(
            f"give q0 and v0: {type(system).__name__} brings no starting values along, and the step size depends "
            "on the motion."
        )
    return system.start()


def _none_suffices(ranked: list[Candidate], tolerance: float, t0: float, t1: float) -> InputError:
    reasons = "; ".join(f"{c.name}: {c.note}" for c in ranked)
    return InputError(
        f"no method reaches the tolerance {tolerance:g} over t = ({t0:g}, {t1:g}): {reasons}. "
        "Try a larger tolerance, a shorter interval, or more seconds."
    )


def _rank(candidate: Candidate) -> tuple[bool, float]:
    return bool(candidate.note), candidate.seconds if not candidate.note else candidate.error


def _fitting(system: AbstractSystem, given: Mapping[str, Method] | None) -> dict[str, Method]:
    """The methods to be measured."""
    if given is not None:
        if not isinstance(given, Mapping) or not given:
            raise InputError(f"candidates must be a dict of methods by name, got {shown(given)}.")
        for name, method in given.items():
            instance(f"candidate {name!r}", method, Method, "a method such as da.Rattle()")
            check_fit(system, method)
        return dict(given)
    if system.provides("gap"):
        known = CONTACT | OVERDETERMINED
    elif system.provides("nonholonomic"):
        known = GENERAL | EXPLICIT
    else:
        known = HOLONOMIC | GENERAL | OVERDETERMINED | EXPLICIT
    fitting = {}
    for name, method in known.items():
        try:
            check_fit(system, method)
        except MethodDoesNotFit:
            continue
        fitting[name] = method
    if HOLONOMIC.keys() & fitting.keys():  # the same accuracy with the structure of mechanics, and less work
        fitting = {name: method for name, method in fitting.items() if name not in GENERAL}
    if not fitting:
        raise MethodDoesNotFit(
            f"no method is known to fit {type(system).__name__} ({', '.join(system.parts)}); name some as candidates."
        )
    return fitting


@dataclass
class _Motion:
    """The motion to be computed, and runs over parts of it."""

    system: AbstractSystem
    q0: Any
    v0: Any
    p0: Any
    t0: float
    t1: float
    budget: float

    def __post_init__(self) -> None:
        self.spent = 0.0

    def run(self, method: Method, end: float, steps: int) -> Trajectory | None:
        """None where a step failed; runs with events keep all states, since they cannot leave some out."""
        every = 1 if isinstance(method, EventCapturing) else steps
        begun = time.perf_counter()
        try:
            found = simulate(
                self.system, method, self.q0, self.v0, self.p0, (self.t0, end), (end - self.t0) / steps,
                save_every=every, on_failure="return",
            )  # fmt: skip
        except MethodDoesNotFit:
            raise
        except DalembertError:
            return None
        self.spent += time.perf_counter() - begun - float(found.stats.get("compile_seconds", 0.0))
        finish_compiling()  # what is measured next should run on the code that a longer run would
        return found if found.status and np.all(np.isfinite(found.q[-1])) else None

    def difference(self, coarse: Trajectory | None, fine: Trajectory | None, order: int) -> float:
        """The error of the coarser of two runs, from the change that half of its step size makes."""
        if coarse is None or fine is None:
            return np.inf
        return float(np.max(np.abs(coarse.q[-1] - fine.q[-1]))) / (1 - 2.0**-order)

    def piece_of(self, method: Method) -> float:
        """The length of a piece that a few steps can follow."""
        span = self.t1 - self.t0
        length, first = span, np.asarray(self.q0, dtype=np.float64)
        for _ in range(40):
            runs = [self.run(method, self.t0 + length, n) for n in (PILOT_STEPS, 2 * PILOT_STEPS)]
            if runs[0] is not None and runs[1] is not None:
                moved = float(np.max(np.abs(runs[1].q[-1] - first)))
                if self.difference(runs[0], runs[1], method.order) <= PILOT_ERROR * max(moved, 1e-6):
                    break
            length /= 2
        return min(span, PIECE_PARTS * length)

    def candidate(self, name: str, method: Method, piece: float, tolerance: float, until: float) -> Candidate:
        """Halve the steps over the piece, until the error that belongs to it is small enough."""
        span = self.t1 - self.t0
        allowed = SAFETY * tolerance * piece / span  # as if errors grew linearly in time
        steps, error, note = FIRST_STEPS_HIGH if method.order >= HIGH_ORDER else FIRST_STEPS, np.inf, ""
        coarse = self.run(method, self.t0 + piece, steps)
        while True:
            fine = self.run(method, self.t0 + piece, 2 * steps)
            before, error = error, self.difference(coarse, fine, method.order)
            if error <= allowed:
                break
            if 4 * steps > MOST_STEPS:
                # from here the order tells the rest, if the errors fall as it says
                note = "" if error < 0.6 * before else "its errors do not fall"
                break
            if self.spent > until:
                note = "" if error < 0.6 * before else "no time left to measure it"
                break
            coarse, steps = fine, 2 * steps
        if not np.isfinite(error):
            note = "its steps fail"
        elif not note:
            steps = max(1, int(np.ceil(steps * min(1e6, max(error / allowed, 1e-300) ** (1 / method.order)))))
            error = min(error, allowed) * span / piece
        timed = min(2 * MOST_STEPS, max(steps, 64))
        runs = [self.run(method, self.t0 + piece, timed) for _ in range(2)]
        a_step = min(np.inf if run is None else float(run.stats["wall_seconds"]) / timed for run in runs)
        whole = max(1, int(np.ceil(steps * span / piece)))
        if whole > MOST_WHOLE and not note:
            note = f"it would need {whole:.0e} steps"
        return Candidate(name, method, span / whole, whole, float(error), a_step * whole, note=note)

    def checked(self, candidate: Candidate, tolerance: float) -> Candidate:
        """The same over the whole interval, with smaller steps where they are needed."""
        span, found = self.t1 - self.t0, candidate
        for _ in range(CORRECTIONS):
            if 3 * found.seconds > max(self.budget - self.spent, 0.3 * self.budget):
                return found
            coarse, fine = (self.run(found.method, self.t1, n) for n in (found.steps, 2 * found.steps))
            error = self.difference(coarse, fine, found.method.order)
            if coarse is not None and error <= tolerance:
                seconds = float(coarse.stats["wall_seconds"])
                return replace(found, error=error, seconds=seconds, checked=True, note="")
            factor = (error / (SAFETY * tolerance)) ** (1 / found.method.order) if np.isfinite(error) else 2.0
            factor = min(max(factor, 1.1), 4.0)
            steps = int(np.ceil(found.steps * factor))
            found = replace(
                found, steps=steps, h=span / steps, seconds=found.seconds * steps / found.steps, error=error
            )
        return replace(found, note="its errors over the whole interval do not fall below the tolerance")
