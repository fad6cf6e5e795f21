"""Compositions and adjoints of one-step methods.

A composition takes the steps gamma_1 h, gamma_2 h, ... of a method one after the other, as one step. Its equations are
those of its substeps, each starting where the one before ended; every substep satisfies the constraints.

The adjoint of Phi_h is the inverse of Phi_{-h}: y1 = Phi*_h(y0) where y0 = Phi_{-h}(y1). In the equations::

    0 = residual of the method from (t1, q1, p1) with the step -h
    0 = q1 + dq - q0 + G(q0)^T alpha,         0 = p1 + dp - p0 + G(q0)^T beta + K(q0, v0)^T kappa
    0 = legendre(t1, q1, v1, p1),   0 = g(t1, q1),   0 = G(q1) v1 + g_t,   0 = k(t1, q1, v1)

The method's own residual asks (q0, p0) to satisfy constraints that hold already; alpha, beta, kappa are the unknowns
that belong to these equations, and are zero at the solution.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import InputError
from ..problem import State
from .base import Advance, Claims, Method, Step, Substep
from .composition_schemes import SCHEMES, scheme_named


class Sequence(Method):
    """Methods one after the other, each with its part of the step. A subclass says `substeps` and `claims`."""

    @property
    def handles(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return frozenset.intersection(*(substep.method.handles for substep in self.substeps))

    @property
    def multiplier(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.substeps[-1].method.multiplier

    def misfit(self, system) -> str | None:
        methods = dict.fromkeys(method for method, _ in self.substeps)
        return next((reason for method in methods if (reason := method.misfit(system)) is not None), None)

    def guess(self, step: Step) -> tuple[Any, ...]:
        guesses, passed, start = [], 0.0, step.start
        for method, fraction in self.substeps:
            moved = start._replace(q=start.q + passed * step.h * start.v)
            guesses.append(method.guess(Step(step.mechanics, step.t + passed * step.h, fraction * step.h, moved)))
            passed += fraction
        return tuple(guesses)

    def residual(self, x: tuple[Any, ...], step: Step) -> dict[str, jax.Array]:
        return self.joined(
            method.residual(unknowns, part)
            for unknowns, (method, _), part in zip(x, self.substeps, self._parts(x, step), strict=True)
        )

    def finish(self, x: tuple[Any, ...], step: Step) -> Advance:
        ends = [
            method.finish(unknowns, part)
            for unknowns, (method, _), part in zip(x, self.substeps, self._parts(x, step), strict=True)
        ]
        last = ends[-1]
        return step.end(
            dq=sum(end.dq for end in ends), dp=sum(end.dp for end in ends), v=last.v, lam=last.lam, psi=last.psi
        )

    def _parts(self, x: tuple[Any, ...], step: Step) -> list[Step]:
        """The substeps, each from where the one before ends."""
        parts, passed, start = [], 0.0, step.start
        for unknowns, (method, fraction) in zip(x, self.substeps, strict=True):
            part = Step(step.mechanics, step.t + passed * step.h, fraction * step.h, start)
            parts.append(part)
            end = method.finish(unknowns, part)
            start = State(start.q + end.dq, start.p + end.dp, end.v, end.lam, end.psi, end.impulse)
            passed += fraction
        return parts


class Composition(Sequence):
    """A method composed to a higher order, chosen by name: `Composition(Rattle(), "kahan-li8")`.

    "adjoint" is the method followed by its adjoint, each with half the step: symmetric, of order 2 or the even order
    above that of the method. The other schemes compose a symmetric method of order 2; of a method that is not
    symmetric they compose its "adjoint" pair. "triple-jump" and "quintuple-jump" raise the order of any symmetric
    method by two.
    """

    method: Method
    scheme: str = eqx.field(static=True)

    def __init__(self, method: Method, scheme: str = "adjoint") -> None:
        if not isinstance(method, Method):
            raise InputError(f"Composition expects a method such as da.Rattle(), got {type(method).__name__}.")
        self.method, self.scheme = method, scheme
        found = scheme_named(scheme)
        if found.base_order is not None and self._base_order != found.base_order:
            raise InputError(
                f"the scheme {scheme!r} composes symmetric methods of order {found.base_order}; the one given "
                f'has order {self._base_order}. Use "triple-jump" or "quintuple-jump", which raise any order by 2.'
            )

    def __repr__(self) -> str:
        return f"Composition({self.method!r}, {self.scheme!r})"

    @property
    def _base_order(self) -> int:
        """The order of the symmetric method that the scheme composes."""
        order = self.method.claims.order
        return order if self.method.claims.symmetric else order + order % 2

    @property
    def substeps(self) -> tuple[Substep, ...]:
        fractions = SCHEMES[self.scheme].fractions(self._base_order)
        if self.method.claims.symmetric:
            return tuple(Substep(self.method, fraction) for fraction in fractions)
        other = adjoint(self.method)
        return tuple(Substep(method, fraction / 2) for fraction in fractions for method in (self.method, other))

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        base = self.method.claims
        order = SCHEMES[self.scheme].order(self._base_order)
        return Claims(
            order=order,
            symmetric=True,
            symplectic=base.symplectic,
            momentum=base.momentum,
            bounded_energy=True,
            constraints=base.constraints,
            multiplier_order=order if self.multiplier == "recomputed" else None,
            note=base.note,
        )


class AdjointUnknowns(NamedTuple):
    """The end of the step, the unknowns of the method backwards from it, and the slack of satisfied constraints."""

    q1: jax.Array
    p1: jax.Array
    v1: jax.Array
    back: Any
    alpha: jax.Array
    beta: jax.Array
    kappa: jax.Array


class Adjoint(Method):
    """The adjoint of a method; a closed form where the method knows one, else solved implicitly."""

    method: Method

    def __check_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise InputError(f"Adjoint expects a method such as da.Rattle(), got {type(self.method).__name__}.")

    @property
    def handles(self) -> frozenset[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.handles

    @property
    def multiplier(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "recomputed"

    @property
    def claims(self) -> Claims:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.method.claims

    def misfit(self, system) -> str | None:
        return self.method.misfit(system)

    def guess(self, step: Step) -> Any:
        closed = self.method.adjoint()
        if closed is not None:
            return closed.guess(step)
        h, start = step.h, step.start
        end = start._replace(q=start.q + h * start.v)
        return AdjointUnknowns(
            q1=end.q,
            p1=end.p,
            v1=end.v,
            back=self.method.guess(self._back(step, end)),
            alpha=jnp.zeros_like(start.lam),
            beta=jnp.zeros_like(start.lam),
            kappa=jnp.zeros_like(start.psi),
        )

    def residual(self, x: Any, step: Step) -> dict[str, jax.Array]:
        closed = self.method.adjoint()
        if closed is not None:
            return closed.residual(x, step)
        m, t0, t1, start = step.mechanics, step.t, step.t_end, step.start
        back = self._back(step, start._replace(q=x.q1, p=x.p1, v=x.v1))
        end = self.method.finish(x.back, back)
        slack = m.constraint_force(t0, start.q, x.beta) + m.nonholonomic.force(t0, start.q, start.v, x.kappa)
        own = {f"backwards: {name}": value for name, value in self.method.residual(x.back, back).items()}
        return own | {
            "return: position": x.q1 + end.dq - start.q + m.constraint_force(t0, start.q, x.alpha),
            "return: momentum": x.p1 + end.dp - start.p + slack,
            "end: velocity": m.legendre(t1, x.q1, x.v1, x.p1),
            "end: position constraint": m.constraint(t1, x.q1),
            "end: hidden constraint": m.hidden(t1, x.q1, x.v1),
            "end: nonholonomic constraint": m.velocity_constraint(t1, x.q1, x.v1),
        }

    def finish(self, x: Any, step: Step) -> Advance:
        closed = self.method.adjoint()
        if closed is not None:
            return closed.finish(x, step)
        back = self._back(step, step.start._replace(q=x.q1, p=x.p1, v=x.v1))
        end = self.method.finish(x.back, back)
        return step.end(dq=-end.dq, dp=-end.dp, v=x.v1, lam=end.lam, psi=end.psi)

    @staticmethod
    def _back(step: Step, end: State) -> Step:
        return Step(step.mechanics, step.t_end, -step.h, end)


def adjoint(method: Method) -> Method:
    """The adjoint as the simplest method that is it: the method itself if it is symmetric, a closed form if known."""
    if method.claims.symmetric:
        return method
    if isinstance(method, Adjoint):
        return method.method
    return method.adjoint() or Adjoint(method)
