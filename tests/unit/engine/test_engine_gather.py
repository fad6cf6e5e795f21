"""Indexing as JAX does it, on numpy arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.engine.trace.gather import gather

TABLE = jnp.arange(24.0).reshape(2, 3, 4)
ROWS, COLUMNS = np.array([[1, 0], [1, 1]]), np.array([[2, 0], [1, 2]])
CASES = {
    "an entry": lambda x: x[1, 2, 3],
    "rows": lambda x: x[jnp.array([1, 0, 1])],
    "pairs": lambda x: x[ROWS, COLUMNS],
    "middle axis": lambda x: x[:, jnp.array([2, 0])],
    "last axis": lambda x: x[..., jnp.array([3, 3, 0])],
    "split by a slice": lambda x: x[ROWS, :, np.array([[3, 0], [1, 2]])],
    "negative": lambda x: x[jnp.array([-1, 0])],
    "outside": lambda x: x.at[jnp.array([0, 5])].get(mode="fill", fill_value=-7.0),
    "clipped": lambda x: x.at[jnp.array([0, 5])].get(mode="clip"),
    "take along": lambda x: jnp.take_along_axis(x, jnp.array([[[1]], [[0]]]), axis=1),
    "batched": lambda x: jax.vmap(lambda row, k: row[k])(x, jnp.array([2, 0])),
    "batched slices": lambda x: jax.vmap(lambda row, k: jax.lax.dynamic_slice(row, (k, 1), (2, 2)))(
        x, jnp.array([1, 0])
    ),
    "none": lambda x: x[jnp.zeros((0,), dtype=int)],
}


@pytest.mark.parametrize("case", CASES)
def test_every_gather_of_a_function_agrees_with_jax(case):
    seen = []

    def walk(jaxpr, consts, arguments):
        values = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, arguments, strict=True))

        def read(atom):
            return atom.val if hasattr(atom, "val") else values[atom]

        for equation in jaxpr.eqns:
            inputs = [read(atom) for atom in equation.invars]
            inner = equation.params.get("jaxpr")
            if inner is not None:
                results = walk(inner.jaxpr, inner.consts, inputs)
            else:
                results = equation.primitive.bind(*inputs, **equation.params)
                results = results if equation.primitive.multiple_results else [results]
            if equation.primitive.name == "gather":
                fill = equation.params["fill_value"]
                ours = gather(
                    np.asarray(inputs[0]), np.asarray(inputs[1]), equation.params, np.nan if fill is None else fill
                )
                np.testing.assert_array_equal(ours, np.asarray(results[0]))
                seen.append(case)
            values.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    closed = jax.make_jaxpr(CASES[case])(TABLE)
    (result,) = walk(closed.jaxpr, closed.consts, [TABLE])
    np.testing.assert_array_equal(result, CASES[case](TABLE))
    assert seen or case in ("an entry", "none"), "the case has no gather: it tests nothing"
