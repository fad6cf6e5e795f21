"""Labels of equal integers, the hash table of operations, and what operations need: against plain Python."""

import numpy as np
import pytest

from dalembert.engine.program.array_program import ArrayProgram
from dalembert.engine.program.numbering import labelled, unique


@pytest.mark.parametrize("size", [0, 1, 5, 3000, 40_000])
@pytest.mark.parametrize("largest", [7, 2**62])
def test_labels_like_a_dictionary(size, largest):
    keys = np.random.default_rng(size).integers(-largest, largest, size)
    labels, first = labelled(keys)
    known: dict[int, int] = {}
    expected = [known.setdefault(key, len(known)) for key in keys.tolist()]
    assert labels.tolist() == expected
    assert keys[first].tolist() == list(known)


@pytest.mark.parametrize("size", [0, 1, 5, 3000])
def test_unique_like_numpy(size):
    keys = np.random.default_rng(size).integers(0, 500, size)
    once, place = unique(keys)
    expected, expected_place = np.unique(keys, return_inverse=True)
    np.testing.assert_array_equal(once, expected)
    np.testing.assert_array_equal(place, expected_place)


def test_equal_operations_are_made_once():
    """Random operations on few arguments, in arrays of all lengths: the table grows on the way."""
    random, program = np.random.default_rng(1), ArrayProgram()
    x, known = program.inputs("x", 200), {}
    for count in (1, 7, 900, 20_000, 3):
        for op in ("max", "atan2", "sin", "lt"):
            arguments = [random.choice(x, count) for _ in range(1 if op == "sin" else 2)]
            nodes = program.apply(op, *arguments)
            for node, *given in zip(nodes.tolist(), *(a.tolist() for a in arguments), strict=True):
                key = (op, *(sorted(given) if op == "max" else given))
                assert known.setdefault(key, node) == node
    assert len(set(known.values())) == len(known)


def test_choices_differ_in_every_argument():
    program = ArrayProgram()
    x = program.inputs("x", 8)
    condition = program.apply("lt", x, x[::-1])
    nodes = [program.select(condition, x[a], x[b]) for a, b in ((0, 1), (1, 0), (0, 2), (0, 1))]
    np.testing.assert_array_equal(nodes[0], nodes[3])
    assert len({tuple(group.tolist()) for group in nodes}) == 3


def test_needed_operations_like_a_walk():
    random, program = np.random.default_rng(2), ArrayProgram()
    nodes = program.inputs("x", 30)
    for _ in range(60):
        made = program.apply(
            ("add", "mul", "atan2")[random.integers(3)], random.choice(nodes, 5), random.choice(nodes, 5)
        )
        nodes = np.concatenate([nodes, made])
    roots = random.choice(nodes, 4)
    wanted = random.random(len(program)) < 0.9

    def walked(wanted):
        found, waiting = set(), [int(node) for node in roots if wanted[node]]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                below = [int(a[0]) for a in program.arguments(np.array([node]))]
                waiting += [a for a in below if a >= 0 and wanted[a]]
        return sorted(found)

    assert program.needed(roots).tolist() == walked(np.ones(len(program), bool))
    assert program.reachable(roots, -wanted.astype(np.int32)).tolist() == walked(wanted)
