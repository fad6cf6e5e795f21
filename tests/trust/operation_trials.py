"""Random expressions, their first and second derivatives: as the engine translates them, and as JAX computes them."""

from __future__ import annotations

import types

import jax
import jax.numpy as jnp
import numpy as np
from random_expressions import Expressions
from random_models import PARAMETERS

from dalembert.engine.functions.function import Function, traced_in_arrays
from dalembert.errors import UnsupportedByEngine

#: Expressions that are compared in one go: one compilation by JAX for all of them.
TOGETHER = 8


def drawn(seed: int, count: int = TOGETHER) -> tuple[list[str], int]:
    """Expressions of a vector with n entries, and n."""
    chance = np.random.default_rng([seed, 3])
    n = int(chance.integers(2, 6))
    expressions = Expressions(chance, n, kinks=bool(chance.random() < 0.5))
    return [expressions.scalar(int(chance.integers(0, 3)), kinks=True) for _ in range(count)], n


def disagreements(seed: int) -> tuple[list[str], int]:
    """Scripts of expressions that the translation gets wrong, and how many expressions it refused."""
    texts, n = drawn(seed)
    points = np.random.default_rng([seed, 4]).uniform(-0.9, 0.9, (3, n + 1))
    translated = [text for text in texts if _translates(text, n)]
    if translated and _difference(translated, points):
        singly = [(text, _difference([text], points)) for text in translated]
        found = [
            f"# {difference}\n# x, s = {points[0, :-1].tolist()}, {points[0, -1]}\n{text}"
            for text, difference in singly
            if difference
        ]
        return found or [f"# only together: {translated}"], len(texts) - len(translated)
    return [], len(texts) - len(translated)


def _function(texts: list[str]):
    """Of (x, s) as one vector: values, and derivatives in a fixed direction."""
    parameters = types.SimpleNamespace(exponent=jnp.asarray(PARAMETERS["exponent"]), weights=PARAMETERS["weights"])
    names = {"jax": jax, "jnp": jnp, "np": np, "self": parameters}
    inner = eval(f"lambda x, s: jnp.stack([{', '.join(texts)}])", names)

    def function(z):
        direction = jnp.asarray(np.cos(np.arange(z.size)))
        value, change = jax.jvp(lambda z: inner(z[:-1], z[-1]), (z,), (direction,))
        return jnp.concatenate([value, change])

    return function


def _translates(text: str, n: int) -> bool:
    try:
        traced_in_arrays(_function([text]), ((n + 1,),))
    except UnsupportedByEngine:
        return False
    return True


def _difference(texts: list[str], points: np.ndarray) -> str:
    """How the translations, scalar and in arrays, differ from JAX at the first point where they do."""
    function = _function(texts)
    exact = jax.jit(lambda z: (function(z), jax.jacfwd(function)(z)))
    ways = {
        "scalar": Function(function),
        "in arrays": Function(function, traced_in_arrays(function, (points[0].shape,))),
    }
    for z in points:
        value, jacobian = (np.asarray(part) for part in exact(jnp.asarray(z)))
        for name, way in ways.items():
            got, entries = way(z)
            for label, a, b in (("value", got, value), ("Jacobian", entries.toarray(), jacobian)):
                if not np.allclose(a, b, rtol=1e-9, atol=1e-10 * (1 + np.max(np.abs(b))), equal_nan=True):
                    return f"{name} {label} {a[~np.isclose(a, b)][:3]} instead of {b[~np.isclose(a, b)][:3]}"
    return ""
