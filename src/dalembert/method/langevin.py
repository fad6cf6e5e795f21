"""Constrained Langevin dynamics: motion in a heat bath, on the constraint manifold.

With the friction gamma, the temperature T (k_B T, an energy) and a constant mass matrix M::

    dq = M^-1 p dt,   dp = (f(q) - gamma p) dt + sqrt(2 gamma T) M^(1/2) dW - G^T dlam,   0 = g(q)

Positions and momenta tend to the density exp(-H / T) on the manifold. The flow is split (Leimkuhler, Matthews 2016,
doi:10.1098/rspa.2016.0138; Lelievre, Rousset, Stoltz 2012, doi:10.1090/S0025-5718-2012-02594-4) into kicks B by the
forces, drifts A along the manifold, and O, friction and noise, which is solved exactly: p -> c p + noise, and the noise
is sqrt(T (1 - c^2)) M^(1/2) xi with normal random numbers xi. After each part the momentum is projected, and
projections at the same position merge into one multiplier.

"baoab", with c = exp(-gamma h), drifts h/2 before and after O::

    p_a = p0 + h/2 f(q0) - G(q0)^T L0 / h        q_h = q0 + h/2 M^-1 p_a        0 = g(q_h)
    p_b = c p_a + noise - G(q_h)^T L1 / h        q1  = q_h + h/2 M^-1 p_b       0 = g(q1)
    p1  = p_b + h/2 f(q1) - G(q1)^T mu           0   = G(q1) M^-1 p1

"obabo", with c = exp(-gamma h / 2), is RATTLE between two halves of O::

    p_a = c p0 + noise_0 + h/2 f(q0) - G(q0)^T L0 / h        q1 = q0 + h M^-1 p_a        0 = g(q1)
    p1  = c (p_a + h/2 f(q1)) + noise_1 - G(q1)^T mu         0  = G(q1) M^-1 p1
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import choice, count, number, positive
from ..errors import MethodDoesNotFit
from ..formulation import Mechanics
from .base import Claims, Method, Step

#: How much the mass matrix may differ at two places and still count as constant.
ROUNDOFF = 1e-10


class BaoabUnknowns(NamedTuple):
    """Momenta, velocities and positions of the two drifts, and the end."""

    p_a: jax.Array
    v_a: jax.Array
    q_h: jax.Array
    L0: jax.Array
    p_b: jax.Array
    v_b: jax.Array
    q1: jax.Array
    L1: jax.Array
    p1: jax.Array
    v1: jax.Array
    mu: jax.Array


class OfRattleUnknowns(NamedTuple):
    """The momentum and velocity of the drift, and the end."""

    p_a: jax.Array
    v_a: jax.Array
    q1: jax.Array
    L0: jax.Array
    p1: jax.Array
    v1: jax.Array
    mu: jax.Array


class Langevin(Method):
    """Constrained Langevin dynamics, g-BAOAB: positions and momenta at a temperature, on the constraint manifold.

    Averages over a long run are those of the density exp(-H / temperature), up to an error of order 2 in h, which is
    small for positions with "baoab". The random numbers of a step follow from `seed` and from the number of the step
    since t = 0: the same call gives the same run, and a run that goes on at a later time draws others. The mass matrix
    must be constant.

    Args:
        temperature: k_B T, in units of energy.
        friction: gamma, in units of 1 / time.
        seed: of the random numbers, a whole number.
        scheme: "baoab", or "obabo": RATTLE between two half steps of friction and noise.
    """

    claims: ClassVar[Claims] = Claims(
        order=2, constraints=("position", "velocity"), note="the order is that of averages; single runs are random"
    )

    temperature: float = eqx.field(static=True)
    friction: float = eqx.field(static=True)
    seed: int = eqx.field(static=True, default=0)
    scheme: str = eqx.field(static=True, default="baoab")

    def __check_init__(self) -> None:
        number("temperature of Langevin", self.temperature, 0.0)
        positive("friction of Langevin", self.friction)
        count("seed of Langevin", self.seed, 0, 2**63 - 1)
        choice("scheme of Langevin", self.scheme, ("baoab", "obabo"))

    @property
    def smooth(self) -> bool:
        """The random numbers of a step say nothing about those of the next one: each begins at its own guess."""
        return False

    @property
    def draws(self) -> int:
        """How many normal random vectors a step takes."""
        return 1 if self.scheme == "baoab" else 2

    def noise_size(self, h: float) -> float:
        """sqrt(T (1 - c^2)): what multiplies M^(1/2) xi."""
        return float(np.sqrt(self.temperature * -np.expm1(-2 * self.friction * h / self.draws)))

    def guess(self, step: Step) -> Any:
        h, (q, p, v, lam, *_) = step.h, step.start
        zero = jnp.zeros_like(lam)
        if self.scheme == "baoab":
            half = q + h / 2 * v
            return BaoabUnknowns(p, v, half, zero, p, v, half + h / 2 * v, zero, p, v, zero)
        return OfRattleUnknowns(p, v, q + h * v, zero, p, v, zero)

    def residual(self, x: Any, step: Step) -> dict[str, jax.Array]:
        return self._baoab(x, step) if self.scheme == "baoab" else self._obabo(x, step)

    def _baoab(self, x: BaoabUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t0, th, t1, (q0, p0, *_) = step.mechanics, step.h, step.t, step.t + step.h / 2, step.t_end, step.start
        c, noise = jnp.exp(-self.friction * h), _noise(step)[0]
        return {
            "first drift: momentum": (
                x.p_a - p0 - h / 2 * m.rate(t0, q0, x.v_a, x.p_a) + m.constraint_force(t0, q0, x.L0) / h
            ),
            "first drift: velocity": m.legendre(t0, q0, x.v_a, x.p_a),
            "first drift: position": x.q_h - q0 - h / 2 * x.v_a,
            "first drift: position constraint": m.constraint(th, x.q_h),
            "second drift: momentum": x.p_b - c * x.p_a - noise + m.constraint_force(th, x.q_h, x.L1) / h,
            "second drift: velocity": m.legendre(th, x.q_h, x.v_b, x.p_b),
            "second drift: position": x.q1 - x.q_h - h / 2 * x.v_b,
            "second drift: position constraint": m.constraint(t1, x.q1),
            "end: momentum": (
                x.p1 - x.p_b - h / 2 * m.rate(t1, x.q1, x.v_b, x.p_b) + m.constraint_force(t1, x.q1, x.mu)
            ),
            "end: velocity": m.legendre(t1, x.q1, x.v1, x.p1),
            "end: hidden constraint": m.hidden(t1, x.q1, x.v1),
        }

    def _obabo(self, x: OfRattleUnknowns, step: Step) -> dict[str, jax.Array]:
        m, h, t0, t1, (q0, p0, *_) = step.mechanics, step.h, step.t, step.t_end, step.start
        c, noise = jnp.exp(-self.friction * h / 2), _noise(step)
        kicked = x.p_a + h / 2 * m.rate(t1, x.q1, x.v_a, x.p_a)
        return {
            "drift: momentum": (
                x.p_a - c * p0 - noise[0] - h / 2 * m.rate(t0, q0, x.v_a, x.p_a)
                + m.constraint_force(t0, q0, x.L0) / h
            ),
            "drift: velocity": m.legendre(t0, q0, x.v_a, x.p_a),
            "drift: position": x.q1 - q0 - h * x.v_a,
            "drift: position constraint": m.constraint(t1, x.q1),
            "end: momentum": x.p1 - c * kicked - noise[1] + m.constraint_force(t1, x.q1, x.mu),
            "end: velocity": m.legendre(t1, x.q1, x.v1, x.p1),
            "end: hidden constraint": m.hidden(t1, x.q1, x.v1),
        }  # fmt: skip

    def finish(self, x: Any, step: Step):
        moved = step.h / 2 * (x.v_a + x.v_b) if self.scheme == "baoab" else step.h * x.v_a
        # the multipliers of kicks are random: none is handed on as a guess, or as what a solution is judged by
        return step.end(dq=moved, dp=x.p1 - step.start.p, v=x.v1, lam=jnp.zeros_like(step.start.lam))

    def facts(self, mechanics: Mechanics, t, q, v, p) -> dict[str, Any]:
        """r_v and r_p of r(v, p) = legendre, here and elsewhere: M = -r_p^-1 r_v."""
        elsewhere = 0.37 + jnp.arange(1.0, q.size + 1) / q.size
        derivatives = jax.jacfwd(mechanics.legendre, (2, 3))
        here, there = derivatives(t, q, v, p), derivatives(t, q + elsewhere, v + elsewhere, p + elsewhere)
        return {"r_v": here[0], "r_p": here[1], "r_v elsewhere": there[0], "r_p elsewhere": there[1]}

    def misfit_at(self, facts: dict[str, np.ndarray]) -> str | None:
        for name in ("r_v", "r_p"):
            if not np.allclose(facts[name], facts[f"{name} elsewhere"], rtol=ROUNDOFF, atol=0.0):
                return (
                    "the mass matrix depends on the position or the velocity, and Langevin dynamics is written for a "
                    "constant one. Use coordinates in which it is constant, with constraints."
                )
        return None

    @staticmethod
    def mass_root(facts: dict[str, np.ndarray]) -> np.ndarray:
        """The lower triangular matrix whose product with its transpose is M."""
        mass = -np.linalg.solve(facts["r_p"], facts["r_v"])
        try:
            return np.linalg.cholesky((mass + mass.T) / 2)
        except np.linalg.LinAlgError as error:
            raise MethodDoesNotFit(
                "Langevin needs a positive definite mass matrix: give every coordinate a mass."
            ) from error


def _noise(step: Step) -> Any:
    """The random momenta of the step, (draws, n); `stepping/noisy_run.py` draws them."""
    return step.mechanics.system.noise_values  # pyright: ignore[reportAttributeAccessIssue]
