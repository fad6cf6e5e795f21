"""Linear complementarity: every solver against the enumeration of all active sets."""

import jax
import numpy as np
import pytest
import scipy.sparse
from lcp_enumeration import SYMMETRIC, asymmetric, enumerate_lcp, perhaps_infeasible, positive_definite, singular

from dalembert.errors import InputError
from dalembert.nonlinear import lcp_newton, lcp_residual, solve_lcp

ITERATIVE = ("gauss_seidel", "projected_gradient")
ALL = ("auto", "lemke", "newton", *ITERATIVE)


def check_against_enumeration(M, q, method):
    found, reference = solve_lcp(M, q, method=method), enumerate_lcp(M, q)
    assert np.all(np.isfinite(found.z))
    assert np.all(np.isfinite(found.w))
    assert found.converged == (found.residual <= 1e-12)
    terms = 1 + np.max(np.abs(M)) * np.max(np.abs(found.z))  # where there is no solution, z grows, and with it roundoff
    assert found.residual == pytest.approx(lcp_residual(M, q, found.z), abs=1e-13 * terms)
    assert found.converged == (reference is not None)
    if reference is not None:
        np.testing.assert_allclose(found.w, M @ found.z + q, rtol=0, atol=0)
        # w is unique for a symmetric, positive semidefinite M; so is z where M is a P-matrix.
        scale = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
        size = np.max(np.abs(q / scale))
        np.testing.assert_allclose(found.w / scale, reference[1] / scale, rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize("method", ["lemke", "newton", *ITERATIVE])
@pytest.mark.parametrize("problem", SYMMETRIC)
def test_fuzz_symmetric(problem, method):
    rng = np.random.default_rng(sum(map(ord, problem.__name__)))
    for k in range(24):
        M, q = problem(rng, 1 + k % 6)
        check_against_enumeration(M, q, method)


@pytest.mark.parametrize("method", ["lemke", "newton"])
def test_fuzz_p_matrices(method):
    rng = np.random.default_rng(1)
    for k in range(24):
        M, q = asymmetric(rng, 1 + k % 6)
        check_against_enumeration(M, q, method)
        np.testing.assert_allclose(solve_lcp(M, q, method=method).z, enumerate_lcp(M, q)[0], atol=1e-8)


def test_lemke_on_many_degenerate_problems():
    rng = np.random.default_rng(2)
    for _ in range(400):
        M, q = perhaps_infeasible(rng, int(rng.integers(2, 6)))
        assert solve_lcp(M, q, method="lemke").converged == (enumerate_lcp(M, q) is not None)


@pytest.mark.parametrize("method", ALL)
def test_infeasible_problems_are_reported(method):
    for M, q in [
        ([[0.0]], [-1.0]),
        ([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0]),
        (np.zeros((3, 3)), [1.0, -1e-3, 0.0]),
    ]:
        found = solve_lcp(M, q, method=method)
        assert not found.converged
        assert found.residual > 1e-12
        assert np.all(np.isfinite(found.z))
        assert np.all(np.isfinite(found.w))


@pytest.mark.parametrize("method", ALL)
def test_closed_forms(method):
    assert solve_lcp(np.zeros((0, 0)), [], method=method).converged
    assert solve_lcp([[2.0]], [3.0], method=method).z.tolist() == [0.0]
    assert solve_lcp([[2.0]], [-3.0], method=method).z == pytest.approx([1.5], rel=1e-12)
    assert solve_lcp([[0.0]], [0.0], method=method).z.tolist() == [0.0]
    found = solve_lcp([[2.0, 1.0], [1.0, 2.0]], [-1.0, 0.0], method=method)
    assert found.z == pytest.approx([0.5, 0.0], abs=1e-12)
    assert found.w == pytest.approx([0.0, 0.5], abs=1e-12)


def test_murty_exponential_example():
    """Murty's matrix leads Lemke's method through 2^n bases when the covering vector is bad; here n = 8."""
    n = 8
    M = np.triu(2.0 * np.ones((n, n)), 1) + np.eye(n)
    found = solve_lcp(M, -np.ones(n), method="lemke")
    assert found.converged
    np.testing.assert_allclose(found.z, np.eye(n)[-1], atol=1e-12)


def test_newton_under_jit_and_vmap():
    rng = np.random.default_rng(3)
    problems = [(positive_definite if k % 2 else singular)(rng, 4) for k in range(64)]
    Ms, qs = np.stack([M for M, _ in problems]), np.stack([q for _, q in problems])
    found = jax.jit(jax.vmap(lcp_newton))(Ms, qs)
    assert bool(np.all(found.converged))
    for k, (M, q) in enumerate(problems):
        np.testing.assert_allclose(found.w[k], solve_lcp(M, q, method="lemke").w, atol=1e-9)
        assert float(found.residual[k]) == pytest.approx(lcp_residual(M, q, np.asarray(found.z[k])), abs=1e-13)


@pytest.mark.parametrize("method", ["auto", *ITERATIVE])
@pytest.mark.parametrize("sparse", [False, True])
def test_large(method, sparse):
    n = 600
    M = scipy.sparse.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    q = np.random.default_rng(4).standard_normal(n) - 0.1
    found = solve_lcp(M if sparse else M.toarray(), q, method=method)
    assert found.converged
    assert np.min(found.z) >= 0.0
    assert np.min(found.w) >= -1e-11
    assert np.max(np.minimum(found.z, found.w)) <= 1e-9


def test_start_near_the_solution_needs_one_newton_solve():
    M, q = positive_definite(np.random.default_rng(5), 30)
    z = solve_lcp(M, q).z
    found = solve_lcp(M, q, z0=z * 1.0001)
    assert found.converged
    assert (found.method, found.iterations) == ("newton", 1)


def test_residual_does_not_depend_on_units():
    rng = np.random.default_rng(6)
    M, q = positive_definite(rng, 5)
    z, s = rng.random(5), 10.0 ** rng.uniform(-4, 4, 5)
    assert lcp_residual(1e3 * M * np.outer(s, s), q * s, z / (1e3 * s)) == pytest.approx(
        lcp_residual(M, q, z), rel=1e-9
    )
    assert lcp_residual(M, q, z) > 1e-3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3)), [1.0, 2.0]), r"square matrix M, got the shape \(2, 3\)"),
        ((np.eye(2), [1.0]), r"q of shape \(2,\), got \(1,\)"),
        ((np.eye(2), [1.0, np.nan]), "finite values of q"),
        (([[np.inf]], [1.0]), "finite entries of M"),
        ((np.eye(1), [1.0], [1.0, 2.0]), r"z0 of shape \(1,\)"),
        ((np.eye(1), [1.0], None, "simplex"), "method among auto, lemke"),
        ((np.eye(1), [1.0], None, "auto", -1.0), "positive tolerance"),
        ((scipy.sparse.eye_array(2), [1.0, 1.0], None, "lemke"), "dense M"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        solve_lcp(*arguments)
