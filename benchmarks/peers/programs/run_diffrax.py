"""diffrax: Dopri8 with its controller of step sizes, float64, on the equations reduced by hand."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from measure import NotApplicable, Solver, main
from problems import GRAVITY, MASSES, PAIRS, RODS, SPRINGS, Problem

jax.config.update("jax_enable_x64", True)
TOLERANCES = [10.0 ** (-k / 2) for k in range(8, 29)]


def pendulum(q, v):
    lam = (v @ v - GRAVITY * q[1]) / (q @ q)
    return -lam * q - jnp.array([0.0, GRAVITY])


def chain(q, v):
    d, e = (jnp.diff(x.reshape(-1, 3), axis=0, prepend=jnp.zeros((1, 3))) for x in (q, v))
    right = jnp.sum(e**2, axis=1).at[0].add(-GRAVITY * d[0, 2])
    diagonal = jnp.sum(d**2, axis=1) * jnp.where(jnp.arange(len(d)) > 0, 2.0, 1.0)
    beside = -jnp.sum(d[1:] * d[:-1], axis=1)
    zero = jnp.zeros(1)
    lower, upper = jnp.concatenate([zero, beside]), jnp.concatenate([beside, zero])
    lam = jax.lax.linalg.tridiagonal_solve(lower, diagonal, upper, right[:, None])
    pull = lam * d
    a = jnp.concatenate([pull[1:], jnp.zeros((1, 3))]) - pull
    return (a - jnp.array([0.0, 0.0, GRAVITY])).ravel()


def four(q, v):
    r, w, a = q.reshape(4, 3), v.reshape(4, 3), jnp.zeros((4, 3))
    for i, j, stiffness in SPRINGS:
        d = r[i] - r[j]
        pull = stiffness * (d @ d - 1.0) * d
        a = a.at[i].add(-pull / MASSES[i]).at[j].add(pull / MASSES[j])
    for i, j in RODS:
        d, e = r[i] - r[j], w[i] - w[j]
        lam = (d @ (a[i] - a[j]) + e @ e) / ((1 / MASSES[i] + 1 / MASSES[j]) * (d @ d))
        a = a.at[i].add(-lam * d / MASSES[i]).at[j].add(lam * d / MASSES[j])
    return a.ravel()


def particles(q, v):
    y, z = q[1 : PAIRS + 1], q[PAIRS + 1 :]
    cross = jnp.zeros(PAIRS).at[0].set(z[0] * z[1] ** 2).at[1].set(z[1] * z[0] ** 2)
    f = -q - jnp.concatenate([jnp.zeros(1), y * z**2, z * y**2 + cross])
    row = jnp.concatenate([jnp.ones(1), jnp.zeros(PAIRS), y])
    return f - row * (row @ f + v[1 : PAIRS + 1] @ v[PAIRS + 1 :]) / (row @ row)


MODELS = {"pendulum": pendulum, "chain": chain, "four": four, "particles": particles}


class Diffrax(Solver):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.settings = {"Dopri8": TOLERANCES}
        self.written_by_user = (MODELS[problem.kind],)
        n, acceleration = len(problem.q0), MODELS[problem.kind]
        self.y0 = jnp.concatenate([jnp.asarray(problem.q0), jnp.asarray(problem.v0)])
        term = diffrax.ODETerm(lambda t, y, _: jnp.concatenate([y[n:], acceleration(y[:n], y[n:])]))

        def solve(y0, tolerance, end, times):
            save = diffrax.SaveAt(t1=True) if times is None else diffrax.SaveAt(ts=times)
            controller = diffrax.PIDController(rtol=tolerance, atol=tolerance)
            return diffrax.diffeqsolve(
                term, diffrax.Dopri8(), 0.0, end, 1e-3, y0, saveat=save, stepsize_controller=controller,
                max_steps=10**7, adjoint=diffrax.ForwardMode(),
            ).ys  # fmt: skip

        self.solve = jax.jit(solve)

    def prepare(self, method, setting):
        n = len(self.problem.q0)
        return lambda: np.asarray(self.solve(self.y0, setting, self.problem.end, None).block_until_ready())[-1, :n]

    def states(self, method, setting, times):
        y, n = np.asarray(self.solve(self.y0, setting, self.problem.end, jnp.asarray(times))), len(self.problem.q0)
        return y[:, :n], y[:, n:]


def make(problem: Problem) -> Solver:
    if problem.kind not in MODELS:
        raise NotApplicable("impacts would need a loop over events by hand")
    return Diffrax(problem)


if __name__ == "__main__":
    main(make, diffrax.__version__)
