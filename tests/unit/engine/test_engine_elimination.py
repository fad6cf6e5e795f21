"""Elimination: whatever the pattern, the native solution is the solution; what is singular is named."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import dalembert as da
from dalembert.engine.contract import StepFunctions
from dalembert.engine.elimination.block_triangular import block_triangular
from dalembert.engine.runners.native import NativeRun
from dalembert.errors import ModelError
from dalembert.gallery import Chain


def step_functions(residual, n: int, *, n_parameters: int = 0, blocks=None, names=None) -> StepFunctions:
    """The state is the solution: x with residual(x, t, state, parameters) = 0, from a guess of zero."""
    names = names or tuple(f"x[{k}]" for k in range(n))
    return StepFunctions(
        guess=lambda t, h, state, parameters: jnp.zeros(n),
        residual=lambda x, t, h, state, parameters: residual(x, t, state, parameters),
        finish=lambda x, t, h, state, parameters: x - state,
        unknowns=names,
        equations=tuple(f"equation[{k}]" for k in range(n)),
        blocks=blocks or (n,),
        n_state=n,
        summed_blocks=(n,),
        n_parameters=n_parameters,
    )


def solve(functions: StepFunctions, parameters=None, steps: int = 1, h: float = 0.1):
    parameters = np.zeros(0) if parameters is None else parameters
    start = np.ones(functions.n_state)
    run = NativeRun(functions, start, 0.0, h, parameters, compensated=False)
    return run.run(run.first_carry(start), 0.0, h, steps, 1, parameters, steps), run


def random_saddle_point(seed: int):
    """A sparse (H, G^T; G, 0), well conditioned, with random rows and columns exchanged."""
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 9))
    m = int(random.integers(1, n // 2 + 1))
    H = np.diag(random.uniform(1.0, 3.0, n)) + 0.2 * random.standard_normal((n, n)) * (random.random((n, n)) < 0.2)
    G = random.standard_normal((m, n)) * (random.random((m, n)) < 0.5)
    G[np.arange(m), random.permutation(n)[:m]] += 2.0
    matrix = np.block([[H, G.T], [G, np.zeros((m, m))]])
    matrix = matrix[random.permutation(n + m)][:, random.permutation(n + m)]
    return matrix, random.standard_normal(n + m), random


SEEDS = [seed for seed in range(40) if np.linalg.cond(random_saddle_point(seed)[0]) < 1e3][:12]


@pytest.mark.parametrize("seed", SEEDS)
def test_linear_saddle_point_is_solved_without_newton(seed):
    matrix, right, _ = random_saddle_point(seed)
    functions = step_functions(
        lambda x, t, state, parameters: matrix @ x - parameters, len(right), n_parameters=len(right)
    )
    chunk, run = solve(functions, right)
    assert chunk.status == 0
    assert run.report()["newton_unknowns"] == []
    np.testing.assert_allclose(chunk.saved[0], np.linalg.solve(matrix, right), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_nonlinear_saddle_point_agrees_with_scipy(seed):
    matrix, right, random = random_saddle_point(seed)
    where = np.asarray(random.random(len(right)) < 0.5, dtype=float)
    partner = random.permutation(len(right))

    def residual(x, t=None, state=None, parameters=None):
        return matrix @ x - right + 0.05 * where * jnp.sin(x) * x[partner]

    chunk, _ = solve(step_functions(residual, len(right)))
    jitted = jax.jit(residual)
    found = scipy.optimize.root(
        lambda x: np.asarray(jitted(x)), np.zeros(len(right)), jac=jax.jit(jax.jacfwd(residual)), tol=1e-14
    )
    assert chunk.status == 0
    np.testing.assert_allclose(np.asarray(jitted(chunk.saved[0])), 0.0, atol=1e-10)
    np.testing.assert_allclose(chunk.saved[0], found.x, rtol=1e-9, atol=1e-9)


def test_block_triangular_form_of_a_known_example():
    """Equations 0 and 2 share unknowns 1 and 3; equation 1 gives unknown 0 alone; equation 3 needs all others."""
    matrix = [{1: 1, 3: 1, 0: 1}, {0: 1}, {1: 1, 3: 1}, {2: 1, 0: 1, 3: 1}]
    names = (tuple("abcd"), tuple("ABCD"))
    blocks = block_triangular(matrix, [0, 1, 2, 3], [0, 1, 2, 3], names)
    assert [(sorted(rows), sorted(columns)) for rows, columns in blocks] == [([1], [0]), ([0, 2], [1, 3]), ([3], [2])]


def test_blocks_are_solved_one_after_the_other():
    """x0 alone (nonlinear), then x1 and x2 together, then x3 directly from them."""

    def residual(x, t, state, parameters):
        return jnp.array(
            [
                x[0] + 0.1 * jnp.sin(x[0]) - 1.0,
                x[1] + 0.1 * x[2] ** 2 - jnp.cos(x[0]),
                x[2] + 0.1 * x[1] ** 3 + x[0] ** 2,
                2.0 * x[3] - x[1] * x[2],
            ]
        )

    chunk, run = solve(step_functions(residual, 4))
    assert run.report()["newton_unknowns"] in ([1, 2], [1, 1])
    np.testing.assert_allclose(residual(chunk.saved[0], 0.0, None, None), 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("residual", "message"),
    [
        (lambda x, *_: jnp.array([x[0] - 1.0, x[0] + x[2], x[2] ** 2 + x[0]]), r"no equation depends on .* 'x\[1\]'"),
        (
            lambda x, t, *_: jnp.array([x[0] + x[1], x[1] + x[2], t]),
            r"the equation 'equation\[2\]' contains no unknown",
        ),
        (
            lambda x, *_: jnp.array([x[0] ** 2 + x[1] * x[2], jnp.sin(x[0]), jnp.exp(x[0])]),
            r"the equation 'equation\[\d\]' determines no unknown of its own; unknowns left over: x\[\d\]",
        ),
        (
            lambda x, *_: jnp.array([x[0] + x[1] - 1.0, x[0] + x[1] - 2.0, x[2] - x[0]]),
            r"the equation 'equation\[\d\]' determines no unknown of its own",
        ),
    ],
    ids=["unknown", "equation", "matching", "twice the same"],
)
def test_structurally_singular_residual_names_the_culprit(residual, message):
    with pytest.raises(ModelError, match=f"structurally singular: .*{message}"):
        solve(step_functions(residual, 3))


def test_pattern_that_changes_on_the_way():
    """x0 and x1 change roles at t = 0.5."""

    def residual(x, t, state, parameters):
        return jnp.where(t < 0.5, jnp.array([x[0] - 1.0 - t, x[0] + x[1] ** 3 - 3.0]),
                         jnp.array([x[1] - 1.0 - t, x[1] + x[0] ** 3 - 3.0]))  # fmt: skip

    functions = step_functions(residual, 2)
    functions = StepFunctions(**{**functions.__dict__, "guess": lambda t, h, state, parameters: state})
    chunk, _ = solve(functions, steps=10, h=0.1)
    assert chunk.status == 0
    for k, x in enumerate(chunk.saved):
        t = 0.0 + k * 0.1
        given, other = (x[0], x[1]) if t < 0.5 else (x[1], x[0])
        np.testing.assert_allclose([given, other**3], [1.0 + t, 2.0 - t], rtol=1e-14)


def test_entry_that_is_zero_at_the_start():
    """The coefficient of x0 in its own equation is t: zero at first, later the largest."""

    def residual(x, t, state, parameters):
        return jnp.array([10.0 * t * x[0] + x[1] + 0.1 * x[0] * x[1] - 1.0, x[0] - x[1] + 0.1 * x[1] ** 2])

    chunk, _ = solve(step_functions(residual, 2), steps=20)
    assert chunk.status == 0
    for k, x in enumerate(chunk.saved):
        np.testing.assert_allclose(residual(x, k * 0.1, None, None), 0.0, atol=1e-13)


class PatternChanges(da.System):
    """A point on a plane that bends, smoothly to second order, from x = 0.2 on."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - q[2]

    def holonomic(self, t, q):
        return jnp.where(q[0] < 0.2, q[1], q[1] + (q[0] - 0.2) ** 3)


class ProductConstraint(da.System):
    """g = x y z + w with x = y = z = 0 at the start: three entries of the Jacobian vanish there."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v

    def holonomic(self, t, q):
        return q[0] * q[1] * q[2] + q[3]


@pytest.mark.usefixtures("quick_xla")
@pytest.mark.parametrize(
    ("system", "q0", "v0"),
    [
        (PatternChanges(), [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]),
        (ProductConstraint(), [0.0, 0.0, 0.0, 0.0], [1.0, 2.0, -1.0, 0.0]),
    ],
)
def test_constraint_whose_jacobian_changes_its_pattern(system, q0, v0):
    run = da.simulate(system, da.Rattle(), q0, v0, t=(0.0, 1.0), h=0.02, engine="native")
    other = da.simulate(system, da.Rattle(), q0, v0, t=(0.0, 1.0), h=0.02, engine="xla")
    assert run.status
    assert np.max(run.constraint) <= 1e-14
    assert np.max(run.hidden) <= 1e-13
    np.testing.assert_allclose(run.q, other.q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_chain_along_an_axis(axis, sign):
    links = 4
    q0 = np.zeros((links, 3))
    q0[:, axis] = sign * np.arange(1, links + 1)
    run = da.simulate(Chain(links=links), da.Rattle(), q0.ravel(), np.zeros(3 * links), t=(0.0, 1.0), h=0.01)
    assert run.stats["engine"] == "native"
    assert run.status
    assert np.max(run.constraint) <= 1e-13
