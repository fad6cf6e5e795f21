"""`Stepper`: one step a call, with the input of that step: for controllers, games, learning and co-simulation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arguments import count, flag, floats, number, positive, shown
from ..engine import OK, LaneSteps, Stepwise, raising, stepwise
from ..errors import InputError, MethodDoesNotFit, StepFailure
from ..method import EventCapturing, Langevin, Method
from ..problem import AbstractSystem, driven, held, inputs_of
from ..stepping import (
    Given,
    Layout,
    Members,
    Options,
    Prepared,
    accelerations,
    checked,
    parameter_places,
    prepare_batch,
    prepare_run,
)
from ..trajectory.sensors import sensors_at


class StepperState:
    """The state after a step; its arrays are copies, and stay as they are."""

    __slots__ = ("_layout", "_numbers", "t")

    def __init__(self, layout: Layout, numbers: np.ndarray, t: float) -> None:
        self._layout, self._numbers, self.t = layout, numbers, t

    @property
    def numbers(self) -> np.ndarray:
        """q, p, v, the multipliers and impulses, one after the other."""
        return self._part(0, self._layout.n_state)

    def _part(self, begin: int, end: int) -> np.ndarray:
        return self._numbers[begin:end]

    @property
    def q(self) -> np.ndarray:
        """The position, (n,)."""
        return self._part(0, self._layout.n)

    @property
    def p(self) -> np.ndarray:
        """The momentum, (n,)."""
        return self._part(self._layout.n, 2 * self._layout.n)

    @property
    def v(self) -> np.ndarray:
        """The velocity, (n,)."""
        return self._part(2 * self._layout.n, 3 * self._layout.n)

    @property
    def impulse(self) -> np.ndarray:
        """The impulses of the contacts during the step."""
        return self._part(sum(self._layout.sizes[:5]), self._layout.n_state)

    def __repr__(self) -> str:
        return f"StepperState(t={self.t:.6g}, q={self.q}, v={self.v})"


class BatchState(StepperState):
    """The states of a batch; arrays are (members, n)."""

    __slots__ = ("_lanes",)

    def __init__(self, layout: Layout, lanes: LaneSteps, numbers: np.ndarray, t: float) -> None:
        super().__init__(layout, numbers, t)
        self._lanes = lanes

    def _part(self, begin: int, end: int) -> np.ndarray:
        return self._lanes.in_rows(self._numbers[:, begin:end])


class Rates(NamedTuple):
    """Acceleration and multipliers of the continuous equations at a state."""

    a: np.ndarray
    lam: np.ndarray
    psi: np.ndarray


class Moment(NamedTuple):
    """What `Stepper.snapshot` gives: where the motion was, and all on which its next steps depend."""

    steps: Any
    t0: float


class Stepper:
    """Steps of `system` with `method` from (q0, v0) or (q0, p0) at t0, one or more a call.

    >>> sim = Stepper(cart, Rattle(), h=0.001, q0=[0.0], v0=[0.0])  # doctest: +SKIP
    >>> state = sim.step(u=[1.0])  # doctest: +SKIP

    Args:
        system: a `System` or `HamiltonianSystem`; where it declares inputs, `step` takes them.
        method: any method but `EventCapturing`.
        h: the step size.
        q0: the position at t0, shape (n,); or (members, n) for a batch, which is stepped side by side.
        v0: the velocity; or give `p0`.
        p0: the momentum.
        t0: the time at which the motion begins.
        points: where in a step the values of an input lie, in units of h: (0.0,) for one value, which the input keeps
            during the step; (0.0, 1.0) for a line; the input is the polynomial through them.
        project: move inconsistent starting values onto the constraints.
        engine: "native", "xla" or "auto".

    A batch of members has all arrays with the members first. `step` then takes u of the shape (members, inputs), or
    (inputs,) for all; members that fail stay where they were, `failed` says which, and `restart` puts them elsewhere.
    """

    def __new__(cls, system, method, h, q0: Any = None, *arguments, **options) -> Stepper:
        """A batch where q0 has a row for each of its members."""
        return object.__new__(BatchStepper if cls is Stepper and np.ndim(q0) == 2 else cls)

    def __init__(
        self, system: AbstractSystem, method: Method, h: float, q0=None, v0=None, *, p0=None, t0: float = 0.0,
        points: tuple[float, ...] = (0.0,), project: bool = False, engine: str = "auto",
    ) -> None:  # fmt: skip
        if isinstance(method, EventCapturing):
            raise MethodDoesNotFit("da.Stepper takes steps of one size, da.EventCapturing chooses its own: "
                                   "use da.MoreauJean().")  # fmt: skip
        if isinstance(method, Langevin):
            raise MethodDoesNotFit("da.Stepper takes steps that follow from the state and the input, and da.Langevin "
                                   "draws random numbers: use da.simulate.")  # fmt: skip
        system = checked(system, method, engine)
        #: The inputs of the system: names, places in u, bounds.
        self.inputs = inputs_of(system)
        self.points: tuple[float, ...] = tuple(floats("points", points, finite=True).ravel().tolist())
        if np.ndim(points) != 1 or not self.points or len(set(self.points)) < len(self.points):
            raise InputError(f"points must be one or more different numbers, got {shown(points)}.")
        if len(self.points) > 1 and not self.inputs.size:
            raise InputError(f"points are those of inputs, and {type(system).__name__} declares none.")
        self._system = driven(system, self.points) if self.inputs.size else system
        self._method, self._h = method, positive("h", h)
        self._options = Options(h=self._h, project=flag("project", project), engine=engine)
        self._prepared: Prepared | None = None
        self._u_shape = (len(self.points), self.inputs.size)
        most = np.finfo(np.float64).max
        bounds = (np.clip(bound, -most, most).tolist() for bound in (self.inputs.lower, self.inputs.upper))
        self._limits = list(zip(*bounds, strict=True)) * len(self.points)
        self._places = parameter_places(self._system) if self.inputs.size else {}
        self.reset(q0, v0, p0=p0, t0=t0)

    @raising
    def reset(self, q0=None, v0=None, *, p0=None, t0: float | None = None) -> StepperState:
        """Begin anew, at other starting values or, without any, at those given before; the input is zero again."""
        if q0 is None and self._prepared is not None:
            if v0 is not None or p0 is not None:
                raise InputError("give q0 with v0 or p0, or none of them.")
            self._t0 = self._t0 if t0 is None else number("t0", t0)
        else:
            t0 = number("t0", 0.0 if t0 is None else t0)
            with held():
                self._prepared = prepare_run(self._system, self._method, q0, v0, p0, t0, self._options)
            self._t0 = t0
        prepared = self._prepared
        assert prepared is not None
        self._layout: Layout = prepared.layout
        carry = prepared.runner.first_carry(prepared.state)
        self._steps: Stepwise = stepwise(prepared.runner, carry, self._t0, self._h, prepared.parameters)
        self._find_input()
        return self.state

    def _find_input(self) -> None:
        """Where in the parameters of the step the input stands: elsewhere, once a step was mended."""
        self._parameters, self._u = self._steps.parameters, np.zeros(0)
        if self.inputs.size:
            self._u = self._parameters[self._places["input_values"]]
            self._span = self._parameters[self._places["input_span"]]

    def step(self, u=None, steps: int = 1) -> StepperState:
        """Take steps, and give the state at their end. The input is u in all of them; without u it stays as it is.

        u has the shape (inputs,), or (points, inputs) where a step has several; one number where there is one input.
        Values outside the bounds of the inputs are refused. Where a step fails, `StepFailure` says why, and the state
        remains the one before it.
        """
        work, code = self._steps, OK
        if work.parameters is not self._parameters:
            self._find_input()
        if u is not None:
            self._set_input(u)
        if steps != 1:
            steps = count("steps", steps)
        if len(self.points) == 1:
            code = work.advance(steps)
        else:
            for _ in range(steps):
                self._find_input()
                self._span[:] = self.t, self._h
                code = code or work.advance()
        if code != OK:
            self._fail(code)
        return StepperState(self._layout, work.state.copy(), self._t0 + work.taken * self._h)

    def _set_input(self, u) -> None:
        flat = self._u
        try:  # a row of numbers within the bounds: most calls, so they are looked at with Python's own numbers
            values = u.tolist() if type(u) is np.ndarray else u
            if len(values) == len(self._limits):
                for value, (lower, upper) in zip(values, self._limits, strict=True):
                    if not lower <= value <= upper:
                        break
                else:
                    if len(values) == 1:
                        flat[0] = values[0]
                    else:
                        flat[:] = values
                    return
        except (TypeError, ValueError):
            pass
        flat[:] = self._checked_input(u)

    def _checked_input(self, u) -> np.ndarray:
        """Any other input, as numbers; what is wrong is refused."""
        size, flat = self.inputs.size, self._u
        if not size:
            raise InputError(f"step got u, but {type(self._system).__name__} has no inputs: declare `inputs`.")
        found = floats("u", u)
        if found.shape not in (self._u_shape, (len(flat),)) and not (found.ndim == 0 and len(flat) == 1):
            raise InputError(
                f"u must have shape ({size},) for the inputs {', '.join(self.inputs.names)}, got {found.shape}."
                if len(self.points) == 1
                else f"u must have shape {self._u_shape}, (points, inputs), got {found.shape}."
            )
        self.inputs.check_bounds(found, " in this step" if len(self.points) == 1 else "")
        return found.ravel()

    def _fail(self, code: int) -> None:
        """Say why a step failed."""
        self._find_input()
        prepared, work = self._prepared, self._steps
        assert prepared is not None
        code = prepared.meant(work.carry, self.t, self._h, code, work.residual)
        status = prepared.status(code, work.carry, self.t, self._h, work.residual, False)
        raise StepFailure(status.message)

    @property
    def t(self) -> float:
        """The time now."""
        return self._t0 + self._steps.taken * self._h

    @property
    def state(self) -> StepperState:
        """The state now."""
        return StepperState(self._layout, self._steps.state.copy(), self.t)

    def rates(self) -> Rates:
        """Acceleration and multipliers now, of the continuous equations with the input as it is."""
        prepared, state = self._prepared, self.state
        assert prepared is not None
        n, m = self._layout.n, self._layout.m
        rows = (np.asarray(part)[None] for part in (state.t, state.q, state.v, state.p))
        found = accelerations(self._system, prepared.start.rows, *rows, parameters=self._steps.parameters[None])[0]
        return Rates(found[:n], found[2 * n : 2 * n + m], found[2 * n + m :])

    def sensors(self) -> dict[str, np.ndarray]:
        """What the sensors of the system say now, with the input as it is."""
        state, rates, u = self.state, self.rates(), np.zeros(0)
        if self.inputs.size:
            u = self._u[-self.inputs.size :].copy()
        numbers = (np.asarray(state.t), state.q, state.v, rates.a, rates.lam, u)
        return sensors_at(self._system, numbers, self._steps.parameters)

    def snapshot(self) -> Moment:
        """The moment as it is, to come back to with `restore`."""
        return Moment(self._steps.snapshot(), self._t0)

    def restore(self, moment: Moment) -> StepperState:
        """Come back to a moment: from there on the same inputs give the same states, bit for bit."""
        if not isinstance(moment, Moment):
            raise InputError(f"restore takes what snapshot gave, got {shown(moment)}.")
        if len(moment.steps.carry.state) != self._layout.n_state:
            raise InputError("restore takes a snapshot of this stepper, got one of another system.")
        self._steps.restore(moment.steps)
        self._t0 = moment.t0
        self._find_input()
        return self.state


class BatchStepper(Stepper):
    """The stepper of a batch."""

    @raising
    def reset(self, q0=None, v0=None, *, p0=None, t0: float | None = None) -> StepperState:
        """Begin anew, at other starting values or, without any, at those given before; the input is zero again."""
        if q0 is not None:
            t0 = number("t0", 0.0 if t0 is None else t0)
            if np.ndim(q0) != 2:
                raise InputError(f"q0 of a batch must have shape (members, n), got {np.shape(q0)}.")
            self._given = q0, v0, p0
        elif v0 is not None or p0 is not None:
            raise InputError("give q0 with v0 or p0, or none of them.")
        self._t0 = self._t0 if t0 is None else number("t0", t0)
        with held():
            rows = len(self._given[0])
            members = Members(self._system, Given(*self._given), self._t0, rows, self._options.project, h=self._h)
            runner = prepare_batch(members, self._method, self._h)
        self._layout, self._lanes = members.layout, LaneSteps(runner, self._t0, self._h)
        self._known_failed = np.zeros(self._lanes.members, bool)
        return self.state

    def step(self, u=None, steps: int = 1) -> StepperState:
        """Take steps, and give the states at their end; see `Stepper.step`. Where members fail that had not failed
        before, `StepFailure` names them; all others have taken the steps."""
        lanes = self._lanes
        if u is not None:
            rows = self._checked_rows(u)
            lanes.set_parameters(self._places["input_values"], rows)
        steps = count("steps", steps)
        if len(self.points) == 1:
            lanes.advance(steps)
        else:
            for _ in range(steps):
                lanes.set_parameters(self._places["input_span"], np.array([self.t, self._h]))
                lanes.advance()
        failed = lanes.failed
        new = np.flatnonzero(failed & ~self._known_failed)
        if len(new):
            self._known_failed |= failed
            raise StepFailure(
                f"{len(new)} of {len(failed)} members of the batch failed before t = {self.t:.6g}, the first is member "
                f"{new[0]}: they stay where they were, the others have taken the step. Use a smaller h, or put them "
                "elsewhere with restart."
            )
        return self.state

    def _checked_rows(self, u) -> np.ndarray:
        size, members, flat = self.inputs.size, self._lanes.members, len(self._limits)
        if not size:
            raise InputError(f"step got u, but {type(self._system).__name__} has no inputs: declare `inputs`.")
        found = floats("u", u)
        shape = (size,) if len(self.points) == 1 else self._u_shape
        if found.shape not in (shape, (members, *shape)):
            raise InputError(f"u must have shape {(members, *shape)}, or {shape} for all members, got {found.shape}.")
        self.inputs.check_bounds(found)
        return found.reshape(*found.shape[: found.ndim - len(shape)], flat)

    @property
    def failed(self) -> np.ndarray:
        """Whether each member has failed, (members,)."""
        return self._lanes.failed

    def restart(self, members, q0, v0=None, *, p0=None) -> StepperState:
        """Put some members, by number, at other positions and velocities: q0 has a row for each of them. Their time
        goes on with that of the others."""
        which = np.atleast_1d(np.asarray(members))
        if which.dtype.kind not in "iu" or which.ndim != 1 or np.any((which < 0) | (which >= self._lanes.members)):
            raise InputError(f"members must be numbers from 0 to {self._lanes.members - 1}, got {shown(members)}.")
        rows = [None if part is None else np.atleast_2d(np.asarray(part)) for part in (q0, v0, p0)]
        if rows[0] is None or len(rows[0]) != len(which):
            raise InputError(f"q0 must have a row for each of the {len(which)} members, got shape {np.shape(q0)}.")
        with held():
            members = Members(self._system, Given(*rows), self.t, len(which), self._options.project, h=self._h)
            self._lanes.restart(which, members.states)
        self._known_failed[which] = False
        return self.state

    @property
    def t(self) -> float:
        """The time now."""
        return self._t0 + self._lanes.taken * self._h

    @property
    def state(self) -> StepperState:
        """The states now."""
        return BatchState(self._layout, self._lanes, self._lanes.state(), self.t)

    def rates(self) -> Rates:
        """Accelerations and multipliers now, (members, ...)."""
        n, m, state, parameters = self._layout.n, self._layout.m, self.state, self._lanes.get_parameters()
        t = np.full(self._lanes.members, state.t)
        found = accelerations(self._system, None, t, state.q, state.v, state.p, parameters=parameters)
        return Rates(found[:, :n], found[:, 2 * n : 2 * n + m], found[:, 2 * n + m :])

    def snapshot(self) -> Moment:
        """The moment as it is, to come back to with `restore`."""
        return Moment(self._lanes.snapshot(), self._t0)

    def restore(self, moment: Moment) -> StepperState:
        """Come back to a moment: from there on the same inputs give the same states, bit for bit."""
        if not isinstance(moment, Moment) or not isinstance(moment.steps, tuple) or len(moment.steps) != 3:
            raise InputError(f"restore takes what snapshot gave, got {shown(moment)}.")
        self._lanes.restore(moment.steps)
        self._t0 = moment.t0
        return self.state
