"""On what claims are measured: a method, a system, a start, and what has to be known of the system for the measures."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..method import Claims, Method
from ..problem import AbstractSystem, State, prepared
from ..simulation import simulate
from ..stepping import consistent, observe
from ..trajectory import Trajectory
from .convergence import EndErrors, end_errors
from .reference import reference_solution

#: Errors between which step sizes are chosen for the fit of an order, relative to the size of the motion: first from
#: one of these on, down to the last; and the numbers of steps that are worth while.
LADDERS, SMALLEST_ERROR = (1e-4, 1e-6), 1e-9
MOST_STEPS, POINTS = 6_400, 5
#: An error that is this small foretells those of smaller step sizes.
FORETELLING = 1e-2


@dataclass(frozen=True)
class Setting:
    """On what the claims are measured on one system. None: found out, or a default that suits most systems."""

    end: float | None = None  # orders are fitted over (0, end)
    steps: Callable[[int], tuple[int, ...] | None] | None = None  # order -> numbers of steps
    h: float | None = None  # the step size of the long run
    long_steps: int = 10_000
    stretch: Callable[[int], float] = lambda order: 1.0  # order -> multiple of h with which the energy is watched
    coarse: float | None = None  # the step size with which reversibility (20 steps) and symplecticity are measured
    energy: str | None = "found out"  # "energy" or the invariant that is constant in its stead; None: nothing is
    bounded: Callable[[Method], bool] | None = None  # whether a bound of the energy error can be seen
    symmetric: bool | None = None  # whether an angular momentum of the system is conserved
    lowest_order: int = 1  # methods of a lower order are of a higher one on this system by chance
    unseen: frozenset[int] = frozenset()  # orders that cannot be seen in double precision
    exact: frozenset[str] = frozenset()  # quantities that every method computes without error
    size: float | None = None  # of the terms of the constraints, to which their residuals are compared


@dataclass(frozen=True, eq=False)
class Case:
    """One method on one system from one start; its runs are computed once."""

    method: Method
    system: AbstractSystem
    q0: Any
    v0: Any
    setting: Setting = field(default_factory=Setting)
    reference: Callable[[float], State] | None = None  # the state at a time, where it is known

    @property
    def claims(self) -> Claims:
        return self.method.claims

    @functools.cached_property
    def h(self) -> float:
        """The step size of the long run."""
        return self.setting.h or self.end / 100

    @functools.cached_property
    def end(self) -> float:
        return self.setting.end or (100 * self.setting.h if self.setting.h else 1.0)

    @property
    def coarse(self) -> float:
        return self.setting.coarse or self.end / 20

    @functools.cached_property
    def at_end(self) -> State:
        if self.reference is not None:
            return self.reference(self.end)
        return reference_solution(self.system, self.q0, self.v0, (0.0, self.end))

    @property
    def quantities(self) -> tuple[str, ...]:
        """What has an order: q, p, and the multipliers that there are."""
        multipliers = (("holonomic", "lam"), ("nonholonomic", "psi"))
        return ("q", "p", *(key for part, key in multipliers if self.system.provides(part)))

    @functools.cache  # noqa: B019 - a case lives as long as what is measured on it
    def errors(self, ladder: int = 0) -> EndErrors:
        """At the end of the interval of the orders, for the step sizes of the setting, or of one of the ladders."""
        steps = self.setting.steps(self.claims.order) if self.setting.steps else None
        steps = steps or self._suitable_steps(LADDERS[ladder])
        return end_errors(
            self.system, self.method, self.q0, self.v0, (0.0, self.end), self.end / np.array(steps, dtype=float),
            self.at_end, quantities=self.quantities,
        )  # fmt: skip

    @functools.cache  # noqa: B019 - a case lives as long as what is measured on it
    def unequal_errors(self, ladder: int = 0) -> EndErrors:
        """As `errors`, with steps that alternate 2 : 1: two in place of one, or for high orders, whose errors would be
        roundoff, so many that the longer ones are as long as the steps there."""
        pairs = np.unique(np.round(self.errors(ladder).steps / (1.0 if self.claims.order <= 4 else 1.5))).astype(float)
        return end_errors(
            self.system, self.method, self.q0, self.v0, (0.0, self.end), self.end / pairs, self.at_end,
            quantities=self.quantities, pattern=(2.0, 1.0),
        )  # fmt: skip

    @functools.cached_property
    def _first_error(self) -> tuple[int, float]:
        """A number of steps that is large enough for the error to foretell others, and that error relative to q."""
        scale = float(np.max(np.abs(self.at_end.q))) or 1.0
        for steps in (16, 64, 256, 1024):
            hs = np.array([self.end / steps])
            found = end_errors(self.system, self.method, self.q0, self.v0, (0.0, self.end), hs, self.at_end)
            error = float(found.errors["q"][0]) / scale
            if error <= FORETELLING:
                return steps, max(error, 1e-2 * SMALLEST_ERROR)
        return steps, error if np.isfinite(error) else 1.0

    def _suitable_steps(self, largest_error: float) -> list[int]:
        """Numbers of steps whose errors, as a first one foretells by the claimed order, lie between two bounds."""
        order, (steps, error) = self.claims.order, self._first_error
        first = max(4, round(steps * (error / largest_error) ** (1 / order)))
        last = min(MOST_STEPS, max(2 * first, round(steps * (error / SMALLEST_ERROR) ** (1 / order))))
        first = min(first, last // 2 if order > 2 else last // 8)
        return np.unique(np.round(np.geomspace(first, last, POINTS)).astype(int)).tolist()

    @functools.cache  # noqa: B019 - a case lives as long as what is measured on it
    def long_run(self, stretch: float = 1.0) -> Trajectory:
        """A long run with the step size of the system, or a multiple of it."""
        h, steps = stretch * self.h, self.setting.long_steps
        return simulate(self.system, self.method, self.q0, self.v0, t=(0.0, steps * h), h=h, save_every=2)

    @functools.cached_property
    def energy_run(self) -> Trajectory:
        """The run in which the energy is watched."""
        return self.long_run(self.setting.stretch(self.claims.order))

    @functools.cached_property
    def energy(self) -> str | None:
        """What is constant along the exact motion: the energy, an invariant in its stead, or nothing."""
        if self.setting.energy != "found out":
            return self.setting.energy
        return "energy" if _is_autonomous(self.system, self.q0, self.v0) else None


def _is_autonomous(system: AbstractSystem, q0, v0) -> bool:
    """Whether no force acts, and neither energy nor constraints depend on the time, judged at the start."""
    if system.provides("force") or system.provides("reaction"):
        return False
    start, times = consistent(system, q0, v0), np.array([0.0, 0.37])
    state = [np.broadcast_to(np.asarray(part), (2, len(start.q))) for part in (start.q, start.v, start.p)]
    names = ("energy", "all constraints", "all hidden")
    return all(np.allclose(*observe(prepared(system), name, times, *state)) for name in names)
