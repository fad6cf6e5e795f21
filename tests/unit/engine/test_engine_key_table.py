"""The hash table of operations against a dictionary."""

import numpy as np

from dalembert.engine.key_table import KeyTable


def test_it_numbers_like_a_dictionary():
    random = np.random.default_rng(0)
    table, known, following = KeyTable(), {}, 7
    for size in (0, 1, 5, 3000, 40_000, 2):
        keys = random.integers(0, 5000 if size < 5000 else 2**61, size)
        numbers, fresh = table.number(keys, following)
        expected_fresh = []
        for position, key in enumerate(keys.tolist()):
            if key not in known:
                known[key] = following
                following += 1
                expected_fresh.append(position)
        assert numbers.tolist() == [known[key] for key in keys.tolist()]
        assert fresh.tolist() == expected_fresh
