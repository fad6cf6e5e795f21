"""Linear equations eliminated block after block of their triangular form."""

from __future__ import annotations

import numpy as np

from dalembert.engine.elimination.array_elimination import ELIMINATION, ArrayElimination, Plan
from dalembert.engine.elimination.array_in_turn import IN_TURN
from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.passes import run_passes
from dalembert.engine.values.array_values import ArrayEvaluator

SIZE = 40


def two_chains(numbers: np.ndarray) -> tuple[ArrayElimination, np.ndarray, np.ndarray, dict]:
    """Two tridiagonal systems, of which the second also holds three neighbouring unknowns of the first; the matrix, the
    right side and the inputs."""
    rows, columns = [], []
    for i in range(2 * SIZE):
        block = i // SIZE * SIZE
        for j in (i - SIZE - 1, i - SIZE, i - SIZE + 1, i - 1, i, i + 1):
            if block <= j < block + SIZE or (block and 0 <= j < SIZE):
                rows.append(i)
                columns.append(j)
    rows, columns = np.array(rows), np.array(columns)
    program, draft = ArrayProgram(), ArrayElimination()
    x, given = program.inputs("x", 2 * SIZE), program.inputs("state", len(rows) + 2 * SIZE)
    residual = np.array(program.neg(given[len(rows) :]))
    for row, column, node in zip(rows, columns, given[: len(rows)], strict=True):
        residual[[row]] = program.add(residual[[row]], program.mul(np.array([node]), x[[column]]))
    matrix = np.zeros((2 * SIZE, 2 * SIZE))
    matrix[rows, columns] = numbers[: len(rows), 0] + 4.0 * (rows == columns)
    values = np.concatenate([matrix[rows, columns], numbers[len(rows) : len(rows) + 2 * SIZE, 0]])
    samples = np.concatenate([values[:, None], values[:, None] * (1 + 0.1 * numbers[: len(values), 1:])], axis=1)
    draft.program, draft.x, draft.residual, draft.entries = program, x, residual, (rows, columns, given[: len(rows)])
    draft.samples = {"state": samples, "x": np.zeros((2 * SIZE, samples.shape[1]))}
    draft.plan = Plan(by_changing=False)
    draft.names = tuple([f"{name}{k}" for k in range(2 * SIZE)] for name in ("x", "r"))
    return draft, matrix, values[len(rows) :], {"state": values}


def test_blocks_in_turn_solve_the_same_system():
    numbers = np.random.default_rng(3).uniform(-1.0, 1.0, (1000, 4))
    for passes in (ELIMINATION, IN_TURN):
        draft, matrix, right, given = two_chains(numbers)
        run_passes(passes, draft)
        solution = ArrayEvaluator(draft.program, draft.reduced.rewrite(draft.x))(given)[:, 0]
        np.testing.assert_allclose(matrix @ solution, right, atol=1e-12)
        assert draft.reduced.statistics["newton_unknowns"] == []
        assert draft.reduced.statistics["solved_directly"] == 2 * SIZE
