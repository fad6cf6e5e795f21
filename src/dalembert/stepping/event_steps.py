"""The loop of event capturing: smooth steps up to the next event, a step of Moreau's or a change of mode, and on.

A step of the size h is taken in one piece if nothing happens inside. Else the first event is enclosed in an interval
of the width hbar = C h (h / max(1, T))^p, not below 64 eps of the times that occur; T is the time of the motion at the
start, its size over its speed, so that in small units of time (T = 1000 ms) an event is no wider than in large ones:

    impact     smooth to the beginning of the interval, Moreau's step over it; then the modes of the contacts that rest
    opening    smooth to the middle of it; the contact carries no force any more
    slip       smooth to the middle of it; the contact slides against the friction that held it
    stick      smooth to the middle of it, U_T = 0; the friction that would hold the contact decides whether it sticks

Impacts accumulate where a contact is pushed closed with an acceleration a: the bounces after U- are no higher than
U-^2 / (2 |a|). Once that is below |U|_max hbar, the error of an impact in q, the contact closes for good (rho = 0).
"""

from __future__ import annotations

import itertools

import numpy as np

from ..engine.contract import LEFT_CONSTRAINTS, NOT_CONVERGED, NOT_FINITE, SINGULAR
from ..formulation import mechanics_of
from ..method import EventCapturing
from ..method.event_bounce import TOUCHING
from ..method.event_equations import Instant, Modes, Response, free_modes, response
from ..method.event_mode import EPS, ROUNDOFF, Tolerances
from ..problem import AbstractSystem
from .consistent import Start
from .contact_modes import choose_modes, impact
from .event_chunks import SmoothChunks
from .event_kernels import SmoothStep, Watched
from .event_pieces import EventFailure, Pieces
from .event_projection import projected
from .event_record import ModeHistory, Moment, Rows
from .event_search import Found, first_events
from .event_trail import Trail
from .events import ContactEvent
from .model_check import layout_of
from .redundant import LEFT, better_rows, scaled_gradients
from .scales import constraints_at, relative, row_names
from .step_sizes import EqualSteps

#: More events in one step than this are a sign of a model in which they do not end.
MOST_EVENTS = 20_000
#: Events are never located closer than this, relative to the largest time.
TIME_FLOOR = 64 * EPS


class EventLoop:
    """The motion at one time, and what happened up to it."""

    def __init__(
        self, system: AbstractSystem, method: EventCapturing, start: Start, t1: float, grid: EqualSteps, engine: str,
        *, fresh: bool = False,
    ):  # fmt: skip
        """`fresh`: with pivots that no other run has chosen."""
        mechanics, layout, state, (t0, h, steps) = mechanics_of(system, start.rows), start.layout, start.state, grid
        self._system, self._method, self._layout, self._rows = system, method, layout, start.rows
        self.first = np.concatenate([*map(np.ravel, state[:3]), self._all_lam(np.asarray(state.lam)), *state[4:]])
        self._restitution = np.asarray(mechanics.contact.restitution(layout.contacts))
        self._shape, self._n = (layout.contacts, layout.directions), layout.n
        self._bilateral, self._no_forces = layout.m + layout.k > 0, np.zeros(layout.m + layout.k)
        self._floor = TIME_FLOOR * max(abs(t0), abs(t1))
        self._width = self._width_of(h, 1.0)
        self._how = h, steps, engine
        self._fresh = fresh
        self.pieces = Pieces(system, method, layout, start.rows, *self._how, self._width, fresh)
        self._h, self._far, self._fast = h, 0.0, 0.0
        self.t = t0
        self.y = np.concatenate([state.q, state.p if system.gives_velocity else state.v])
        self.modes = free_modes(layout.contacts)
        self.history = ModeHistory()
        self.history.note(t0, self.modes)
        self.events: list[ContactEvent] = []
        self.impulse = np.zeros(self._shape)
        self.counts = {"smooth_steps": 0, "newton_iterations": 0, "critical_steps": 0}
        self._fastest = np.zeros(layout.contacts)
        self._t0 = t0
        self.chunks = SmoothChunks(self.pieces, h, steps)
        self.trail: Trail | None = None

    def leave(self, trail: Trail) -> None:
        """Note all moves from now on."""
        self.trail, self.chunks.one_by_one = trail, True

    def _width_of(self, h: float, slow: float) -> float:
        """hbar, for motions that take so long."""
        method = self._method
        return max(min(method.constant * h * (h / slow) ** method.order, h / 16), self._floor)

    # -- time ----------------------------------------------------------------------------------------------------

    @property
    def moment(self) -> Moment:
        """Where the motion is."""
        return Moment(self.t, self.y, self.modes, self._fastest, self._far, self._fast)

    def move_to(self, moment: Moment) -> None:
        """Go on from there."""
        self.t, self.y, self.modes, self._fastest, self._far, self._fast = moment

    def go_on(self, k: int, most: int) -> Rows:
        """From the step k at least one step and at most so many: compiled ones as long as nothing happens, else a
        single one, through all that happens in it."""
        sizes = [self._far, self._fast], self._fastest
        state = np.concatenate([self.y, np.zeros(self._shape).ravel(), self._no_forces, *sizes])
        found = None
        if self._rows is None:
            found = self.chunks.take(k, most, self._t0, state, self.y, self.modes)
        if found is None:
            counted, self.impulse = self.counts["newton_iterations"], np.zeros(self._shape)
            self.advance(self._t0 + (k + 1) * self._h)
            self.mark(k + 1)
            return self.row(self.counts["newton_iterations"] - counted)
        chunk = found.chunk
        ends = np.cumsum([2 * self._n, self.impulse.size, self._layout.m, self._layout.k])
        y, impulse, lam, psi, sizes = np.split(chunk.saved, ends, axis=1)
        if self.trail is not None:
            self.trail.steps(self.modes, self.y, k, len(y))
        self.y, (self._far, self._fast) = y[-1], sizes[-1].tolist()
        self._fastest = chunk.carry.state[-self._shape[0] :].copy()
        self._record_bounces(found.bounces)
        times = self._t0 + self._h * np.arange(k + 1, k + 1 + len(y))
        self.t = float(times[-1])
        last = self.row(0)
        lam, psi = np.concatenate([lam[1:], last.lam]), np.concatenate([psi[1:], last.psi])
        self.counts["smooth_steps"] += len(y) + len(found.bounces)
        self.counts["newton_iterations"] += int(chunk.iterations.sum())
        return Rows(times, y, lam, psi, impulse, chunk.iterations)

    def mark(self, k: int) -> None:
        """Note that the step k of the grid ends here."""
        if self.trail is not None:
            self.trail.mark(k, self.modes, self.y, self.t)

    def _record_bounces(self, bounces: np.ndarray) -> None:
        """The impacts in compiled steps."""
        if not len(bounces):
            return
        contacts = self._shape[0]
        contact = np.argmax(bounces[:, 2 : 2 + contacts], axis=1).tolist()
        before, after, impulse = (part.copy() for part in np.split(bounces[:, 2 + contacts :], 3, axis=1))
        self.events += map(
            ContactEvent, bounces[:, 1].tolist(), contact, itertools.repeat("impact"), before, after, impulse
        )
        self.counts["critical_steps"] += len(bounces)

    def advance(self, end: float) -> None:
        """To the time `end`, through all events on the way."""
        for _ in range(MOST_EVENTS):
            left = end - self.t
            if left <= self._floor / 64:
                break
            step = self._smooth(left)
            found = first_events(
                step.inside, self.modes, lambda theta, left=left: self._look(theta * left), left,
                self._width, self._tolerances(step.inside),
            )  # fmt: skip
            if not found:
                if self.trail is not None:
                    self.trail.to_time(self.modes, self.y, self.t, end)
                self._accept(step, left)
                break
            self._pass(found, left)
        else:
            raise EventFailure(
                NOT_CONVERGED,
                f"more than {MOST_EVENTS} events; the last is {self.events[-1].kind} of contact "
                f"{self.events[-1].contact} at t = {self.events[-1].time:.10g}. Use a larger h or constant, "
                "or check restitution, friction and gap near this state.",
            )
        self.t = end
        self.history.note(self.t, self.modes)
        if self._rows is not None:
            self._test_all_rows(self._rows)

    def forget(self) -> None:
        """All that only helps to be quick."""
        self.chunks.forget()
        self.pieces.forget()

    def _test_all_rows(self, rows: tuple[int, ...]) -> None:
        """Of constraints that depend on each other some are imposed: all are tested, and others taken if need be."""
        q = self.y[: self._n]
        found = constraints_at(self._system, self.t, q)
        parts = relative(found.value, found.scales)
        if np.max(parts) > LEFT:
            worst = int(np.argmax(parts))
            raise EventFailure(
                LEFT_CONSTRAINTS,
                f"the step leaves the constraints: {row_names([worst])} = {found.value[worst]:.3g}. The constraints "
                "become independent beside a singular configuration: start beside it, or try a smaller h.",
            )
        better = better_rows(scaled_gradients(self._system, self.t, q), rows)
        if better != rows:
            self._rows = better
            self.pieces = Pieces(self._system, self._method, self._layout, better, *self._how, self._width, self._fresh)

    def row(self, iterations: int) -> Rows:
        """The present state, with the multipliers in its mode and the impulses since they were last set to zero."""
        none = np.zeros(0)
        watched = self._watch() if self._bilateral else None
        lam, psi = (none, none) if watched is None else (watched.lam, watched.psi)
        parts = self.t, self.y, self._all_lam(lam), psi, self.impulse.ravel(), iterations
        return Rows(*(np.array(part)[None] for part in parts))

    def _all_lam(self, lam: np.ndarray) -> np.ndarray:
        """The multipliers of all rows, zero for those that are not imposed."""
        if self._rows is None:
            return lam
        every = np.zeros(layout_of(self._system, self._layout.n).m)
        every[list(self._rows)] = lam
        return every

    # -- smooth steps --------------------------------------------------------------------------------------------

    def _smooth(self, length: float) -> SmoothStep:
        step = self.pieces.step(self.t, length, self.y, self.modes)
        self.counts["smooth_steps"] += 1
        self.counts["newton_iterations"] += int(step.iterations)
        if not (np.all(np.isfinite(step.y)) and np.all(np.isfinite(step.inside.force))):
            raise EventFailure(
                NOT_FINITE,
                "the equations gave NaN or infinity: forces leave their domain, or the closed contacts and constraints "
                "become dependent. Try a smaller h, or check the model near this state.",
            )
        if not step.converged:
            raise EventFailure(
                NOT_CONVERGED,
                "Newton did not converge in a smooth step; h is too large for this motion, try a smaller h.",
            )
        return step

    def _look(self, length: float) -> Watched:
        return Watched(*(values[-1] for values in self._smooth(length).inside))

    def _accept(self, step: SmoothStep, length: float) -> None:
        self.y, self.t = step.y, self.t + length
        self.impulse = self.impulse + step.impulse
        if not step.projected and (self._bilateral or np.any(self.modes.closed)):
            self._project(self.modes.closed, self.modes.closed, self.modes.sticking)

    def _project(self, position, held, sticking) -> None:
        y = projected(
            lambda y: self.pieces.instant(self.t, y), self.y, self._system.gives_velocity, position, held, sticking
        )
        if y is None:
            raise EventFailure(
                SINGULAR,
                "the state cannot be moved onto the constraints and closed contacts: they become dependent there. "
                "Try a smaller h or other coordinates.",
            )
        if self.trail is not None:
            self.trail.projection(self.y, self.t, position, held, sticking)
        self.y = y

    def _watch(self) -> Watched:
        """The present motion: the beginning of a step of no length."""
        step = self.pieces.step(self.t, 0.0, self.y, self.modes)
        return Watched(*(values[0] for values in step.inside))

    def _sizes(self, watched: Watched) -> tuple[float, float]:
        """The largest position and relative velocity up to now, next to what a step adds to them: in the units of the
        system, and not zero where a body passes the origin or turns."""
        ends = watched.acceleration[:: len(watched.acceleration) - 1] if watched.gap.ndim > 1 else watched.acceleration
        h, rate = self._h, float(np.max(np.abs(ends), initial=0.0))
        self._fast = max(self._fast, float(np.max(np.abs(watched.velocity), initial=0.0)), h * rate)
        far = (np.max(np.abs(part), initial=0.0) for part in (self.y[: self._n], watched.gap))
        self._far = max(self._far, *map(float, far), h * self._fast)
        return self._far, self._fast

    def _tolerances(self, inside: Watched) -> Tolerances:
        position, speed = self._sizes(inside)
        force = float(np.max(np.abs(inside.force)))
        return Tolerances(ROUNDOFF.gap * position, ROUNDOFF.velocity * speed, ROUNDOFF.force * force)

    # -- events --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Impacts at once where a closed contact approaches, then the modes of the contacts that rest."""
        watched = self._watch()
        limits = self._touching_limits(watched)
        speed = max(np.max(np.abs(watched.velocity)), np.sqrt(self._far * np.max(np.abs(watched.acceleration))))
        self._width = self.pieces.width = self._width_of(self._h, max(1.0, self._far / speed if speed > 0 else 0.0))
        hitting = (watched.gap <= limits.gap) & (watched.velocity[:, 0] < -limits.velocity)
        none = np.zeros(self._shape[0], bool)
        if np.any(hitting):
            self._impact(0.0, hitting)
        else:
            self._choose(watched.velocity, none, none)
        self.history.note(self.t, self.modes)

    def _pass(self, found: list[Found], left: float) -> None:
        """Through the first of the events found, and those that are not to be told from it."""
        first = min(found, key=lambda event: event.last)
        together = [event for event in found if event.first <= first.last]
        hitting = np.zeros(self._shape[0], bool)
        hitting[[event.contact for event in together if event.kind == "impact"]] = True
        if np.any(hitting):
            self._go_to(first, first.first * left, left)
            self._impact((first.last - first.first) * left, hitting)
            return
        middle = (first.first + first.last) / 2
        self._go_to(first, middle * left, left)
        self._change_modes(together)

    def _go_to(self, event: Found, length: float, left: float) -> None:
        """Smoothly to an event that was found within the time `left`, or shortly before it."""
        step = self._smooth(length) if length > 0 else None
        if self.trail is not None:
            seen = self._watch() if step is None else Watched(*(values[-1] for values in step.inside))
            self.trail.to_event(self.modes, self.y, self.t, event, left, seen, self._tolerances(seen))
        if step is not None:
            self._accept(step, length)

    def _change_modes(self, together: list[Found]) -> None:
        watched = self._watch()
        before, old = watched.velocity, self.modes
        closed, sticking, direction = (part.copy() for part in old[:3])
        freed = np.zeros(self._shape[0], bool)
        halted = np.zeros(self._shape[0], bool)
        for event in together:
            if event.kind == "opening":
                freed[event.contact] = True
                closed[event.contact] = sticking[event.contact] = False
                direction[event.contact] = 0.0
            elif event.kind == "slip":
                sticking[event.contact] = False
                direction[event.contact] = -np.sign(watched.force[event.contact, 1])
            elif event.kind == "stick":
                halted[event.contact] = True
        self.modes = Modes(closed, sticking, direction, old.dependent)
        limits = self._touching_limits(watched)
        idle = ~closed & ~freed & (watched.gap <= limits.gap) & (np.abs(before[:, 0]) <= limits.velocity)
        if np.any(halted) or np.any(idle):
            self._choose(before, freed, sticking | halted)
        self._record_changes(old, before, self._watch().velocity, np.zeros(self._shape))

    def _impact(self, length: float, hitting: np.ndarray) -> None:
        """Moreau's step over `length` with the contacts `hitting` closed."""
        watched, old = self._watch(), self.modes
        gap, before = watched.gap, watched.velocity
        instant, answer = self._respond()
        limits = self._touching_limits(watched)
        touching = hitting | (gap <= limits.gap + length * np.maximum(-before[:, 0], 0.0))
        self._fastest = np.maximum(self._fastest, np.where(touching, np.abs(before[:, 0]), 0.0))
        push = np.maximum(-watched.acceleration[:, 0], 0.0)
        low = hitting & (before[:, 0] ** 2 <= 2 * push * self._fastest * self._width)
        restitution = np.where(low, 0.0, self._restitution)
        free = before + length * answer.contact_rate.reshape(self._shape)
        solution = impact(answer.delassus, free, before, restitution, instant.friction, touching)
        if not solution.solved:
            raise EventFailure(NOT_CONVERGED, "the laws of impact have no solution here; check friction and gap.")
        if self.trail is not None:
            self.trail.impact(self.y, self.t, length, solution.impulse, ~low, instant.friction)
        impulse = solution.impulse.ravel()
        after = free + (answer.delassus @ impulse).reshape(self._shape)
        change = length * answer.v_rate + answer.v_by_impulse @ impulse
        second = self.y[self._n :] + length * answer.second_rate + answer.second_by_impulse @ impulse
        self.y = np.concatenate([self.y[: self._n] + length * (instant.v + change / 2), second])
        self.t += length
        self.impulse = self.impulse + solution.impulse
        self.counts["critical_steps"] += 1
        resting = touching & (np.abs(after[:, 0]) <= limits.velocity)
        self.chunks.counts["bounces"] += int(not np.any(resting) and np.count_nonzero(touching) == 1)
        self._settle(touching, resting)
        usual = 2 * length * np.abs(watched.force[:, 0]) + 1e-9 * np.max(solution.impulse[:, 0])
        for contact in np.flatnonzero(touching & (hitting | (solution.impulse[:, 0] > usual))):
            if not (low[contact] and self.modes.closed[contact]):
                self._record("impact", contact, before, after, solution.impulse, length)
        self._record_changes(old, before, after, np.where(low[:, None], solution.impulse, 0.0), length)

    def _respond(self) -> tuple[Instant, Response]:
        instant = self.pieces.instant(self.t, self.y)
        try:
            return instant, response(instant, self._system.gives_velocity)
        except np.linalg.LinAlgError:
            raise EventFailure(
                SINGULAR, "the constraints become dependent. Try a smaller h, or other coordinates."
            ) from None

    def _settle(self, touching: np.ndarray, resting: np.ndarray) -> None:
        """Contacts that touched are moved apart, those at rest are held; then their modes."""
        none = np.zeros_like(resting)
        self._project(touching & (resting | (self._watch().gap < 0)), resting, none)
        self._choose(self._watch().velocity, none, none)

    def _choose(self, velocity: np.ndarray, freed: np.ndarray, halted: np.ndarray) -> None:
        """The modes that the accelerations ask for. Those that stick are then brought to U_T = 0, no others: where
        friction cannot hold a contact, as in the dead centre of a mechanism, nothing moves it there."""
        self.modes = self._chosen(velocity, freed, halted)
        if np.any(self.modes.sticking):
            self._project(self.modes.closed, self.modes.closed, self.modes.sticking)

    def _chosen(self, velocity: np.ndarray, freed: np.ndarray, halted: np.ndarray) -> Modes:
        """The modes that the accelerations ask for; `halted` are at U_T = 0, as far as this was to be located."""
        watched = self._watch()
        limits = self._touching_limits(watched)
        touching = (watched.gap <= limits.gap) & (np.abs(velocity[:, 0]) <= limits.velocity) & ~freed
        if not np.any(touching):
            return free_modes(self._shape[0])
        resting = halted
        if self._shape[1] == 2:
            resting = halted | (np.abs(velocity[:, 1]) <= limits.velocity)
        instant, answer = self._respond()
        chosen = choose_modes(answer.delassus, answer.contact_rate, velocity, instant.friction, touching, resting)
        if not chosen.solved:
            raise EventFailure(
                NOT_CONVERGED,
                "no contact forces satisfy the laws of contact and friction (a paradox of Painleve: friction is too "
                "large for this configuration). Use less friction, or da.MoreauJean().",
            )
        return chosen.modes

    def _touching_limits(self, watched: Watched) -> Tolerances:
        position, speed = self._sizes(watched)
        return Tolerances(TOUCHING * position, TOUCHING * speed, 0.0)

    # -- the record ----------------------------------------------------------------------------------------------

    def _record(self, kind: str, contact: int | np.integer, before, after, impulse, length: float = 0.0) -> None:
        """An event in the middle of the last `length` of time."""
        parts = (values[contact].copy() for values in (before, after, impulse))
        self.events.append(ContactEvent(self.t - length / 2, int(contact), kind, *parts))

    def _record_changes(self, old: Modes, before, after, impulse, length: float = 0.0) -> None:
        """What became of the modes; sliding that turns round is a slip too."""
        new, both = self.modes, self.modes.closed & old.closed
        kinds = {
            "closing": new.closed & ~old.closed,
            "opening": old.closed & ~new.closed,
            "stick": both & new.sticking & ~old.sticking,
            "slip": both & ~new.sticking & (old.sticking | (new.direction != old.direction)),
        }
        for kind, contacts in kinds.items():
            for contact in np.flatnonzero(contacts):
                self._record(kind, contact, before, after, impulse, length)
