"""The compiled walk through a program in arrays agrees with numpy, operation by operation."""

import numpy as np
import pytest

from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.values.array_values import OPERANDS, ArrayEvaluator

_OPERANDS = dict(OPERANDS)  # operation -> how many operands it has


@pytest.mark.parametrize("op", _OPERANDS)
def test_one_sample_agrees_with_many(op):
    program = ArrayProgram()
    a, b = program.inputs("a", 40), program.inputs("b", 40)
    truth = [program.apply("lt", a, b), program.apply("ge", a, program.constants(0.3))]
    if op in ("and", "or", "xor", "not"):
        arguments = truth[: _OPERANDS[op]]
    elif op == "select":
        arguments = [truth[0], a, b]
    else:
        arguments = [a, b][: _OPERANDS[op]]
    outputs = np.asarray(program.apply(op, *arguments))
    evaluate = ArrayEvaluator(program, outputs)
    random = np.random.default_rng(0)
    values = {"a": random.uniform(0.05, 0.95, 40), "b": random.uniform(0.05, 0.95, 40)}
    if op == "acosh":
        values["a"] = values["a"] + 1.0
    one = evaluate(values)
    many = evaluate({name: np.stack([value, value], axis=1) for name, value in values.items()})
    # the walk takes erfc from the system's library, numpy from SciPy: these differ by a few units in the last place
    np.testing.assert_allclose(one[:, 0], many[:, 0], rtol=2e-15 if op == "erfc" else 5e-16, atol=0)
