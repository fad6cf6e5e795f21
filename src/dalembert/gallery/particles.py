"""Many coupled oscillators with one nonholonomic constraint, a chaotic test of the energy error."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..problem import System
from .ready import Ready, Start


class McLachlanPerlmutterParticles(Ready, System):
    """Coupled oscillators q = (x, y_1 .. y_m, z_1 .. z_m) with one nonholonomic constraint, n = 2m + 1.

        L = |v|^2 / 2 - (|q|^2 + z_1^2 z_2^2 + sum_i y_i^2 z_i^2) / 2
        k = x' + sum_i y_i z_i'          (`integrable`: x' + sum_i z_i z_i')

    (McLachlan and Perlmutter, J. Nonlinear Sci. 16 (2006) 283.) The motion is chaotic and reversible; the energy error
    of a reversible method wanders. With `integrable` the constraint is that printed by Jay (2009): it is the derivative
    of x + sum_i z_i^2 / 2, so the problem is holonomic, and the energy error stays bounded.
    `pairs` is m >= 2; for m = 3 the energy of all starting values is 3.06.
    """

    pairs: int = eqx.field(static=True, default=3)
    integrable: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if not isinstance(self.pairs, int) or isinstance(self.pairs, bool) or self.pairs < 2:
            raise InputError(f"McLachlanPerlmutterParticles expects pairs as an integer >= 2, got {self.pairs!r}.")

    def lagrangian(self, t, q, v):
        y, z = q[1 : self.pairs + 1], q[self.pairs + 1 :]
        quartic = z[0] ** 2 * z[1] ** 2 + jnp.sum(y**2 * z**2)
        return 0.5 * (v @ v) - 0.5 * (q @ q + quartic)

    def nonholonomic(self, t, q, v):
        factors = q[self.pairs + 1 :] if self.integrable else q[1 : self.pairs + 1]
        return v[0] + factors @ v[self.pairs + 1 :]

    def points(self, t, q):
        """The pairs as points (y_i, z_i) of the plane."""
        return jnp.stack([q[1 : self.pairs + 1], q[self.pairs + 1 :]], axis=1)

    def start_of(self, number: int, last: int) -> Start:
        """The member `number` = 0 .. `last` of a family with one energy: x = cos(a), y_1' = sin(a),
        a = pi/2 number / last."""
        if not 0 <= number <= last or last < 1:
            raise InputError(f"start_of expects 0 <= number <= last and last >= 1, got {number} and {last}.")
        angle = np.pi / 2 * number / last
        y = 0.2 * np.arange(self.pairs, 0, -1)
        q0 = np.concatenate([[np.cos(angle)], y, np.ones(self.pairs)])
        v0 = np.zeros_like(q0)
        v0[1] = np.sin(angle)
        return Start(jnp.asarray(q0), jnp.asarray(v0), 20.0, 0.02)

    def start(self) -> Start:
        """At rest."""
        return self.start_of(0, 1)
