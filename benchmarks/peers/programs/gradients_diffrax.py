"""diffrax on chains in space: the gradient of the last coordinate by gravity, under `jit(value_and_grad)`.

Reads {"links": [...], "end": t, "repeats": n} as its argument and prints a line of JSON for each number of links:
seconds of a run and of a value with its gradient (the least of n), and of the first of each.
"""

from __future__ import annotations

import functools
import json
import sys
import time

import diffrax
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
TOLERANCE = 1e-8


def acceleration(gravity, q, v):
    """Masses of one on rigid links of length one, the multipliers eliminated by hand."""
    d, e = (jnp.diff(x.reshape(-1, 3), axis=0, prepend=jnp.zeros((1, 3))) for x in (q, v))
    right = jnp.sum(e**2, axis=1).at[0].add(-gravity * d[0, 2])
    diagonal = jnp.sum(d**2, axis=1) * jnp.where(jnp.arange(len(d)) > 0, 2.0, 1.0)
    beside = -jnp.sum(d[1:] * d[:-1], axis=1)
    zero = jnp.zeros(1)
    lower, upper = jnp.concatenate([zero, beside]), jnp.concatenate([beside, zero])
    pull = jax.lax.linalg.tridiagonal_solve(lower, diagonal, upper, right[:, None]) * d
    return (jnp.concatenate([pull[1:], jnp.zeros((1, 3))]) - pull - jnp.array([0.0, 0.0, 1.0]) * gravity).ravel()


def last_height(gravity, q0, v0, end):
    """z of the last mass at the end."""
    n = len(q0)
    term = diffrax.ODETerm(lambda t, y, g: jnp.concatenate([y[n:], acceleration(g, y[:n], y[n:])]))
    controller = diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE)
    found = diffrax.diffeqsolve(
        term, diffrax.Dopri8(), 0.0, end, 1e-3, jnp.concatenate([q0, v0]), gravity, stepsize_controller=controller
    )
    return found.ys[0, n - 1]


def least(function, repeats: int) -> tuple[float, float]:
    """Seconds of the first call, and the least of those after it."""
    seconds = []
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        jax.block_until_ready(function())
        seconds.append(time.perf_counter() - begun)
    return seconds[0], min(seconds[1:])


def main() -> None:
    asked = json.loads(sys.argv[1])
    for case in asked["cases"]:
        q0, v0 = jnp.array(case["q0"]), jnp.array(case["v0"])
        value = functools.partial(last_height, q0=q0, v0=v0, end=asked["end"])
        run, both = jax.jit(value), jax.jit(jax.value_and_grad(value))
        first_run, run_seconds = least(functools.partial(run, 9.81), asked["repeats"])
        first, seconds = least(functools.partial(both, 9.81), asked["repeats"])
        told = {"run": run_seconds, "gradient": seconds, "first_run": first_run, "first": first}
        print(json.dumps(told | {"slope": float(both(9.81)[1])}), flush=True)


if __name__ == "__main__":
    main()
