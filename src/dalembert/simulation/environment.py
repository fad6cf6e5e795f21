"""`gym`: a system with inputs as an environment of Gymnasium, for learning; one member, or many side by side."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import count, floats, shown, takes
from ..errors import InputError, StepFailure
from ..method import Method
from ..problem import AbstractSystem, Inputs, require_inputs
from .stepper import Stepper


def gym(
    system: AbstractSystem, method: Method, h: float, start, reward: Callable, *, observe: Callable | None = None,
    ends: Callable | None = None, most_steps: int | None = None, steps: int = 1, members: int | None = None,
) -> Any:  # fmt: skip
    """A system with inputs as an environment of Gymnasium (in the extra `control`).

    The action is u, between the bounds of the inputs; clipped to them and kept during `steps` steps of the size h.

    Args:
        system: with inputs.
        method: with which steps are taken.
        h: their size.
        start: (q0, v0); or a function of a `numpy.random.Generator` that gives them, for every episode.
        reward: a function of (t, q, v, u) after the steps of an action.
        observe: a function of (t, q, v) that gives the observation; by default (q, v) in one vector.
        ends: a function of (t, q, v), true where an episode ends by itself.
        most_steps: actions after which an episode is cut short.
        steps: how many steps an action lasts.
        members: for a vector environment of so many: q, v, u and all results then have the members first, and
            reward, observe and ends are called once for all of them.

    A step that fails ends the episode, and `info["failure"]` says why.
    """
    _require_gymnasium()
    inputs = require_inputs(system, "gym")
    tasks = _Tasks(start, reward, observe, ends, most_steps, count("steps", steps))
    tasks.check()
    if members is None:
        return _kinds()[0](system, method, h, inputs, tasks)
    return _kinds()[1](system, method, h, inputs, tasks, count("members", members))


class _Tasks:
    """What is asked of the environment."""

    def __init__(self, start, reward, observe, ends, most_steps, steps: int) -> None:
        self.start, self.reward, self.observe, self.ends = start, reward, observe, ends
        self.most = np.inf if most_steps is None else count("most_steps", most_steps)
        self.steps = steps

    def check(self) -> None:
        """Refuse what cannot be called."""
        for name, function, arguments in (("reward", self.reward, 4), ("observe", self.observe, 3),
                                          ("ends", self.ends, 3)):  # fmt: skip
            if (function is not None or name == "reward") and not takes(function, arguments):
                what = "(t, q, v, u)" if arguments == 4 else "(t, q, v)"
                raise InputError(f"gym: {name} must be a function of {what}, got {shown(function)}.")
        if not callable(self.start) and (not isinstance(self.start, tuple | list) or len(self.start) != 2):
            raise InputError(
                f"gym: start must be (q0, v0) or a function of a random generator, got {shown(self.start)}."
            )

    def begin(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """q0 and v0 of an episode."""
        found: Any = self.start(random) if callable(self.start) else self.start
        try:
            q0, v0 = found
        except (TypeError, ValueError) as error:
            raise InputError(f"gym: start must give (q0, v0), got {shown(found)}.") from error
        return floats("q0", q0, finite=True), floats("v0", v0, finite=True)


def _require_gymnasium() -> None:
    if importlib.util.find_spec("gymnasium") is None:
        raise InputError(
            'da.gym needs the package gymnasium, which is not installed: pip install "dalembert[control]".'
        )


@functools.cache
def _kinds() -> tuple[type, type]:
    """The two classes of environments; gymnasium is loaded here.

    Long: it holds two classes, which can be written only once their base classes are there.
    """
    import gymnasium  # pyright: ignore[reportMissingImports]
    from gymnasium.vector import AutoresetMode, VectorEnv  # pyright: ignore[reportMissingImports]
    from gymnasium.vector.utils import batch_space  # pyright: ignore[reportMissingImports]

    def spaces(inputs: Inputs, observed: np.ndarray) -> tuple[Any, Any]:
        box = gymnasium.spaces.Box
        return box(-np.inf, np.inf, observed.shape, np.float64), box(inputs.lower, inputs.upper, dtype=np.float64)

    class Environment(gymnasium.Env):
        """One member."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

        def __init__(self, system, method, h, inputs: Inputs, tasks: _Tasks) -> None:
            self._tasks, self._lower, self._upper = tasks, inputs.lower, inputs.upper
            self._taken, self._limits = 0, list(zip(inputs.lower.tolist(), inputs.upper.tolist(), strict=True))
            self.stepper = Stepper(system, method, h, *tasks.begin(np.random.default_rng(0)), project=True)
            n = len(self.stepper.state.q)
            self._of_q_and_v = np.concatenate([np.arange(n), np.arange(2 * n, 3 * n)])
            self.observation_space, self.action_space = spaces(inputs, self._observed(self.stepper.state))

        def _observed(self, state) -> np.ndarray:
            if self._tasks.observe is None:
                return state.numbers.take(self._of_q_and_v)
            return np.asarray(self._tasks.observe(state.t, state.q, state.v), np.float64)

        def reset(self, *, seed=None, options=None):
            """Begin an episode."""
            super().reset(seed=seed)
            q0, v0 = self._tasks.begin(self.np_random)
            self._taken = 0
            return self._observed(self.stepper.reset(q0, v0)), {}

        def step(self, action):
            """Act for some steps."""
            tasks, info, u = self._tasks, {}, action
            for value, (lower, upper) in zip(action.tolist(), self._limits, strict=True):
                if not lower <= value <= upper:  # rarely: numpy takes microseconds for small arrays
                    u = np.minimum(np.maximum(action, self._lower), self._upper)
                    break
            try:
                state, failed = self.stepper.step(u, tasks.steps), False
            except StepFailure as failure:
                state, failed, info = self.stepper.state, True, {"failure": str(failure)}
            self._taken += 1
            t, q, v = state.t, state.q, state.v
            ended = failed or (tasks.ends is not None and bool(tasks.ends(t, q, v)))
            return self._observed(state), float(tasks.reward(t, q, v, u)), ended, self._taken >= tasks.most, info

    class Environments(VectorEnv):
        """Many members side by side; a member that ends begins anew with the next action."""

        metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

        def __init__(self, system, method, h, inputs: Inputs, tasks: _Tasks, members: int) -> None:
            self._tasks, self._lower, self._upper, self.num_envs = tasks, inputs.lower, inputs.upper, members
            self._random = np.random.default_rng(0)
            self.stepper: Any = Stepper(system, method, h, *self._begin(members), project=True)
            self._taken, self._over = np.zeros(members, int), np.zeros(members, bool)
            observed = self._observed(self.stepper.state)
            self.single_observation_space, self.single_action_space = spaces(inputs, observed[0])
            self.observation_space = batch_space(self.single_observation_space, members)
            self.action_space = batch_space(self.single_action_space, members)

        def _begin(self, members: int) -> tuple[np.ndarray, np.ndarray]:
            rows = [self._tasks.begin(self._random) for _ in range(members)]
            return np.stack([q for q, _ in rows]), np.stack([v for _, v in rows])

        def _observed(self, state) -> np.ndarray:
            if self._tasks.observe is None:
                return np.concatenate((state.q, state.v), axis=1)
            return np.asarray(self._tasks.observe(state.t, state.q, state.v), np.float64)

        def reset(self, *, seed=None, options=None):
            """Begin an episode of every member."""
            if seed is not None:
                self._random = np.random.default_rng(seed)
            state = self.stepper.reset(*self._begin(self.num_envs))
            self._taken[:], self._over[:] = 0, False
            return self._observed(state), {}

        def step(self, actions):
            """Act for some steps; a member whose episode was over begins anew instead, with the reward zero."""
            tasks, over = self._tasks, self._over.copy()
            u = np.minimum(np.maximum(actions, self._lower), self._upper)
            with contextlib.suppress(StepFailure):  # `failed` says which
                self.stepper.step(u, tasks.steps)
            if over.any():
                which = np.flatnonzero(over)
                self.stepper.restart(which, *self._begin(len(which)))
            state, failed = self.stepper.state, self.stepper.failed
            self._taken = np.where(over, 0, self._taken + 1)
            t, q, v = state.t, state.q, state.v
            ended = failed.copy() if tasks.ends is None else failed | np.asarray(tasks.ends(t, q, v), bool)
            ended &= ~over
            cut = (self._taken >= tasks.most) & ~over
            reward = np.where(over, 0.0, np.asarray(tasks.reward(t, q, v, u), np.float64))
            self._over = ended | cut
            return self._observed(state), reward, ended, cut, {}

    return Environment, Environments
