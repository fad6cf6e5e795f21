"""dalembert: Taylor series, projected onto the constraints; contacts. Steps of one size."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from measure import NotApplicable, Solver, main
from problems import BALL_GRAVITY, BALL_RESTITUTION, GRAVITY, MASSES, PAIRS, Problem

import dalembert as da
from dalembert.engine import finish_compiling


class Pendulum(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - GRAVITY * q[1]

    def holonomic(self, t, q):
        return 0.5 * (q @ q - 1)


class Chain(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - GRAVITY * jnp.sum(q[2::3])

    def holonomic(self, t, q):
        r = q.reshape(-1, 3)
        return 0.5 * (jnp.sum((r - jnp.pad(r, ((1, 0), (0, 0)))[:-1]) ** 2, axis=1) - 1)


class FourParticles(da.System):
    def lagrangian(self, t, q, v):
        r = q.reshape(4, 3)
        first, second = r[0] - r[2], r[1] - r[3]
        springs = 25 * (first @ first - 1) ** 2 + 250 * (second @ second - 1) ** 2
        return 0.5 * v @ (np.repeat(MASSES, 3) * v) - springs

    def holonomic(self, t, q):
        r = q.reshape(4, 3)
        return 0.5 * (jnp.sum((r[::2] - r[1::2]) ** 2, axis=1) - 1)


class Particles(da.System):
    def lagrangian(self, t, q, v):
        y, z = q[1 : PAIRS + 1], q[PAIRS + 1 :]
        return 0.5 * (v @ v - q @ q - z[0] ** 2 * z[1] ** 2 - jnp.sum(y**2 * z**2))

    def nonholonomic(self, t, q, v):
        return v[0] + q[1 : PAIRS + 1] @ v[PAIRS + 1 :]


class Ball(da.System):
    restitution = BALL_RESTITUTION

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - BALL_GRAVITY * q[0]

    def gap(self, t, q):
        return q


MODELS = {"pendulum": Pendulum, "chain": Chain, "four": FourParticles, "particles": Particles, "ball": Ball}


def composed(base, scheme: str):
    return da.Composition(base, scheme)


RATTLE, LOBATTO = da.Rattle(), da.lobatto_spark(2, "AB")
COMPOSITIONS = {
    "RATTLE, sofroniou-spaletta6": composed(RATTLE, "sofroniou-spaletta6"),
    "RATTLE, kahan-li8": composed(RATTLE, "kahan-li8"),
}
HIGHER = {"RATTLE, sofroniou-spaletta10": composed(RATTLE, "sofroniou-spaletta10")}
GALERKIN = {"Galerkin(3)": da.Galerkin(3), "Galerkin(4)": da.Galerkin(4)}
GAUSS = {"gauss_spark(3)": da.gauss_spark(3), "gauss_spark(4)": da.gauss_spark(4)}
#: By problem: the methods tried, and the number of steps of the coarsest run.
SYMPLECTIC = {
    "pendulum": (COMPOSITIONS | GALERKIN | {"gauss_spark(3)": da.gauss_spark(3)}, 800),
    "chain-2": (COMPOSITIONS | HIGHER | GALERKIN, 160),
    "chain-10": (COMPOSITIONS | {"Galerkin(3)": da.Galerkin(3)}, 24),
    "chain-100": (COMPOSITIONS | {"Galerkin(3)": da.Galerkin(3)}, 32),
    "chain-1000": (COMPOSITIONS, 160),
    "four-particles": (COMPOSITIONS | HIGHER | {"Galerkin(3)": da.Galerkin(3)}, 200),
    "particles": (
        {
            "Lobatto IIIA-B, sofroniou-spaletta6": composed(LOBATTO, "sofroniou-spaletta6"),
            "Lobatto IIIA-B, kahan-li8": composed(LOBATTO, "kahan-li8"),
            "Lobatto IIIA-B, sofroniou-spaletta10": composed(LOBATTO, "sofroniou-spaletta10"),
        }
        | GAUSS,
        20,
    ),
}


def taylor(*degrees: int):
    return {f"Taylor({degree})": da.Taylor(degree) for degree in degrees}


METHODS = {
    "pendulum": (taylor(13, 16), 400),
    "chain-2": (taylor(8, 12), 200),
    "chain-10": (taylor(8, 12), 16),
    "chain-100": (taylor(8, 11), 32),
    "chain-1000": (taylor(8), 128),
    "four-particles": (taylor(9, 13), 100),
    "particles": (taylor(8, 12), 16),
    "bouncing-ball": (
        {
            "event capturing, Lobatto IIIA of order 6": da.EventCapturing(da.lobatto_iiia(4)),
            "event capturing, Radau IIA of order 3": da.EventCapturing(da.radau_iia(2)),
            "Moreau-Jean": da.MoreauJean(),
        },
        21,
    ),
}


class Dalembert(Solver):
    def __init__(self, problem: Problem, methods=METHODS) -> None:
        super().__init__(problem)
        self.end_of_ladder = problem.end
        self.system = MODELS[problem.kind]()
        if problem.name not in methods:
            raise NotApplicable("made for smooth motions")
        self.methods, coarsest = methods[problem.name]
        # numbers of steps that are whole multiples of 4, so that states can be saved on the way; with order 8 the error
        # falls by 2.5 from one to the next, by 3.2 with the tolerances of the others
        ladder = [4 * round(coarsest / 4 * 2 ** (k / 6)) for k in range(41)]
        if problem.kind == "ball":
            ladder = [coarsest * 4**k for k in range(8)]
        self.settings = {name: list(dict.fromkeys(ladder)) for name in self.methods}
        self.written_by_user = (MODELS[problem.kind],)

    def simulate(self, method: str, steps: int, end: float, save_every: int) -> da.Trajectory:
        q0, v0 = self.problem.q0, self.problem.v0
        return da.simulate(
            self.system, self.methods[method], q0, v0, t=(0.0, end), h=end / steps, save_every=save_every
        )

    def prepare(self, method, setting):
        capturing = isinstance(self.methods[method], da.EventCapturing)
        every = 1 if capturing else setting

        def run():
            found = self.simulate(method, setting, self.problem.end, every)
            return found.stats["wall_seconds"], found.q[-1]

        return run

    def settle(self):
        """Code of first runs is replaced by faster one, which a thread makes."""
        finish_compiling()

    def states(self, method, setting, times):
        """At steps near the times: every one of a short run, and a good many of a long one."""
        end = self.problem.end
        h = self.end_of_ladder / setting
        steps = round(end / h)
        every = next((k for k in range(max(1, steps // len(times)), 0, -1) if steps % k == 0), 1)
        found = self.simulate(method, steps, end, every)
        return np.asarray(found.q), np.asarray(found.v)


def make(problem: Problem) -> Solver:
    return Dalembert(problem)


if __name__ == "__main__":
    main(make, da.__version__)
