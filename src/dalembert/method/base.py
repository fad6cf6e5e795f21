"""What a method is: three pure functions and its claims. No loop, no Jacobian, no storage.

    guess(step)        where Newton starts; fixes the shape of the unknowns (a NamedTuple of arrays)
    residual(x, step)  named equations (a dict of arrays), zero at the solution
    finish(x, step)    `step.end(dq=..., dp=..., v=..., lam=...)`, the state at t + h

q and p are handed over as increments, because the stepping loop adds them with compensated summation.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import check_double
from ..formulation import Mechanics
from ..later import Later
from ..problem import State
from .polynomials import hermite


@dataclass(frozen=True)
class Claims:
    """What a method promises; every entry is measured by the tests in tests/claims.

    `constraints` lists the levels at which constraints hold at every step: "position" (g = 0), "velocity"
    (g_q v + g_t = 0 and k = 0).
    `energy` is the promise to keep the energy to roundoff, `bounded_energy` the weaker one of an error without drift.
    `unequal_order` is the order where steps of different sizes follow each other, if it is lower than `order`.
    `symmetric_positions` is the weaker promise of a method that is reversible in q but not in p.
    """

    order: int
    symmetric: bool = False
    symmetric_positions: bool = False
    symplectic: bool = False
    energy: bool = False
    momentum: bool = False
    bounded_energy: bool = False
    constraints: tuple[str, ...] = ()
    multiplier_order: int | None = None
    unequal_order: int | None = None
    note: str = ""


class Advance(NamedTuple):
    """The end of a step: increments of q and p, new values of v, lam, psi and of the contact impulses."""

    dq: jax.Array
    dp: jax.Array
    v: jax.Array
    lam: jax.Array
    psi: jax.Array
    impulse: jax.Array


class Step(eqx.Module):
    """Everything a method may use: the equations, the time, the step size and the state at the start."""

    mechanics: Mechanics
    t: jax.Array
    h: jax.Array
    start: State

    @property
    def t_end(self):
        """t + h."""
        return self.t + self.h

    def end(self, *, dq, dp, v, lam=None, psi=None, impulse=None) -> Advance:
        """The state at t + h; multipliers that a method does not compute keep their values."""
        start = self.start
        lam, psi = start.lam if lam is None else lam, start.psi if psi is None else psi
        return Advance(dq, dp, v, lam, psi, start.impulse if impulse is None else jnp.ravel(impulse))


class Substep(NamedTuple):
    """A method, and the part of the step it takes."""

    method: Method
    fraction: float


class Method(eqx.Module):
    """A one-step method. Derive from it, set `claims` and `handles`, write the three functions.

    `claims` is a class attribute, or a property where it depends on the method's parameters.
    """

    #: The optional parts of a system that the method can treat.
    handles: ClassVar[frozenset[str]] = frozenset({"holonomic", "force", "invariants"})
    #: "recomputed": the recorded lam is that of the continuous equations at the recorded state;
    #: "discrete": the method's own.
    multiplier: ClassVar[str] = "recomputed"
    #: Whether the end of a step is known but for a projection onto the constraints.
    explicit: ClassVar[bool] = False
    #: Whether `dense` is as accurate as the ends of a step are.
    dense_is_of_full_order: ClassVar[bool] = False
    #: What a notebook shows, from `plots`.
    _repr_html_ = Later()

    def __check_init__(self) -> None:
        """Coefficients are computed where a method is made."""
        check_double()

    @property
    @abc.abstractmethod
    def claims(self) -> Claims:
        """What the method promises."""

    @abc.abstractmethod
    def guess(self, step: Step) -> Any:
        """Starting values for Newton."""

    @abc.abstractmethod
    def residual(self, x: Any, step: Step) -> dict[str, jax.Array]:
        """The discrete equations."""

    @abc.abstractmethod
    def finish(self, x: Any, step: Step) -> Advance:
        """The state at the end of the step."""

    def dense(self, x: Any, step: Step, theta) -> tuple[Any, Any]:
        """q and v at t + theta h inside a solved step: the cubic Hermite polynomial through both ends, unless the
        method has a polynomial of its own."""
        end = self.finish(x, step)
        return hermite(theta, step.h, step.start.q, step.start.v, end.dq, end.v)

    def continued(self, x: Any, step: Step) -> Any:
        """The unknowns of the step after this one, if the motion went on along the polynomials of this one: where
        Newton begins. Linear in x; a method without polynomials of its own repeats itself."""
        return x

    def inner_multipliers(self, x: Any, step: Step) -> tuple[np.ndarray, Any]:
        """Nodes inside (0, 1), (i,), and the multipliers lam of the step there, (i, m); none by default."""
        return np.zeros(0), jnp.zeros((0, *step.start.lam.shape))

    @property
    def smooth(self) -> bool:
        """False where the residual has kinks, as with contacts, or where a step does not continue the one before."""
        return True

    def exact(self) -> Method:
        """The method whose residual has its true derivatives; only a method that helps Newton along has another one."""
        return self

    @property
    def substeps(self) -> tuple[Substep, ...]:
        """The methods that a composition takes one after the other; empty for a plain method."""
        return ()

    @staticmethod
    def joined(residuals: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """The equations of the substeps as those of one step."""
        return {
            f"substep {number:02d}: {name}": value
            for number, own in enumerate(residuals)
            for name, value in own.items()
        }

    def misfit(self, system) -> str | None:
        """Why the method cannot treat a system although it handles each of its parts; None if it can."""
        return None

    def facts(self, mechanics: Mechanics, t, q, v, p) -> dict[str, Any]:
        """What `misfit_at` judges, as functions of the start of a run."""
        return {}

    def misfit_at(self, facts: dict[str, np.ndarray]) -> str | None:
        """Why the method cannot treat a system for reasons that only numbers tell, its `facts` at the start."""
        return None

    def adjoint(self) -> Method | None:
        """The adjoint method in closed form, where one is known; `da.Adjoint` solves for it otherwise."""
        return self if self.claims.symmetric else None

    @property
    def order(self) -> int:
        """The order of convergence of q and p."""
        return self.claims.order

    @property
    def name(self) -> str:
        """The class name and its non-default fields, as one would type it."""
        return repr(self)
