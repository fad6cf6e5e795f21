"""Damaged MJCF files: every one loads or is refused with a typed error that names the file and the line, or what
MuJoCo's compiler said about it. Needs the package mujoco: `pip install mujoco`.
"""

import random
import re

import numpy as np
import pytest
from mjcf_robots import ROBOTS

import dalembert as da

pytest.importorskip("mujoco")
pytestmark = pytest.mark.oracle


def damaged(text: str, chance: random.Random) -> str:
    """One to three words, values or elements of a file taken away, doubled, cut, or made worse."""
    words = [match.span() for match in re.finditer(r'"[^"]*"|<[^>]*>|[a-z]+', text)]
    for _ in range(chance.randint(1, 3)):
        begin, end = chance.choice(words)
        begin, end = min(begin, len(text)), min(end, len(text))
        piece = text[begin:end]
        worse = ["", piece * 2, piece[: len(piece) // 2], piece.replace("0", "x"), '"inf"', "\0", "é", '"1e400"',
                 '"-1"', '"nan"']  # fmt: skip
        text = text[:begin] + chance.choice(worse) + text[end:]
    return text


@pytest.mark.parametrize("name", sorted(ROBOTS))
def test_damaged_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where mujoco writes its log
    chance, refused = random.Random(sum(map(ord, name))), {}
    for k in range(30):
        data = damaged(ROBOTS[name], chance).encode("utf-8")
        if k % 5 == 0:
            data = data[: chance.randint(0, len(data))]
        file = tmp_path / f"{k}.xml"
        file.write_bytes(data)
        try:
            model = da.load_model(file)
        except da.ModelError as error:
            refused[k] = str(error)
        else:
            for body in list(model.bodies.values())[1:]:
                assert np.all(np.isfinite(np.asarray(body.place)))
                assert np.isfinite(body.mass)
    assert len(refused) > 12
    nameless = [message for k, message in refused.items() if f"{k}.xml" not in message]
    assert nameless == []
    where = r", line \d+|mujoco does not read it: .{10}|no counterpart here: .*\(\w+"
    placeless = [message for message in refused.values() if not re.search(where, message)]
    assert placeless == []
