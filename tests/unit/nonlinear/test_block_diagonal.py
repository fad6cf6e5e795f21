"""Linear systems that fall into blocks."""

import numpy as np
import pytest
import scipy.sparse as sparse

from dalembert.nonlinear import BlockDiagonalSolver


@pytest.mark.parametrize("sizes", [[1, 3, 2, 3, 6], [40, 2], [1]], ids=["small blocks", "a large block", "a number"])
def test_both_right_sides(sizes):
    random = np.random.default_rng(1)
    matrix = sparse.block_diag([random.standard_normal((n, n)) + 3 * n * np.eye(n) for n in sizes], format="csr")
    order = random.permutation(sum(sizes))
    matrix = matrix[order][:, order]
    right = sparse.random(sum(sizes), 5, density=0.3, random_state=2, format="csr")
    solver = BlockDiagonalSolver(matrix)
    expected = np.linalg.solve(matrix.toarray(), right.toarray())
    np.testing.assert_allclose(solver.solve(right.toarray()), expected, rtol=0, atol=1e-14)
    found = solver.solve_sparse(right)
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), expected, rtol=0, atol=1e-14)


def test_entries_that_are_zero_join_no_blocks():
    matrix = sparse.csr_matrix(np.eye(50))
    full = sparse.csr_matrix((np.zeros(2500), (np.repeat(np.arange(50), 50), np.tile(np.arange(50), 50))))
    solver = BlockDiagonalSolver(2.0 * matrix + full)
    assert solver.solve_sparse(matrix).nnz == 50


def test_singular():
    with pytest.raises(RuntimeError, match="singular"):
        BlockDiagonalSolver(sparse.csr_matrix(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])))
