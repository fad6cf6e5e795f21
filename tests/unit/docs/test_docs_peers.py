"""The comparison with other programs: its problems are those of dalembert, and its page says what was measured."""

import json
import re
import sys

import numpy as np
import pytest
from benchmarks.pages import block_of
from benchmarks.peers.collect import Result, absorb, problem_set
from benchmarks.peers.environments import HERE, PEERS
from benchmarks.peers.page import all_tables, ratio_table

from dalembert.diagnostics.reference import reduced_equations
from dalembert.problem import prepared

sys.path.append(str(HERE / "programs"))
import run_dalembert
import symbolic

SMOOTH = [name for name in problem_set.problems() if name not in ("bouncing-ball", "chain-100", "chain-1000")]


def state(name: str):
    """The start, moved along the constraints a little, so that nothing vanishes by symmetry."""
    problem = problem_set.problems()[name]
    q, v = problem.q0.copy(), problem.v0.copy()
    for _ in range(50):
        v = v + 1e-3 * problem.acceleration(q, v)
        q = q + 1e-3 * v
    return problem, q, v


@pytest.mark.parametrize("name", SMOOTH)
def test_the_equations_reduced_by_hand_are_those_of_the_lagrangian(name):
    problem, q, v = state(name)
    system = prepared(run_dalembert.MODELS[problem.kind]())
    masses = np.repeat(problem_set.MASSES, 3) if problem.kind == "four" else 1.0
    y = np.concatenate([q, v, masses * v])
    expected = reduced_equations(system, len(q)).right_side(0.0, y)[len(q) : 2 * len(q)]
    assert problem.acceleration(q, v) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", [*SMOOTH, "chain-100"])
def test_the_same_with_symbols(name):
    problem, q, v = state(name)
    found = symbolic.ACCELERATIONS[problem.kind](q.tolist(), v.tolist())
    assert np.array(found, dtype=float) == pytest.approx(problem.acceleration(q, v), rel=1e-9, abs=1e-9)


def test_every_program_has_its_files():
    for peer in PEERS.values():
        assert peer.script.is_file()
        if peer.environment is not None:
            pins = (HERE / f"requirements-{peer.environment}.txt").read_text(encoding="utf-8").split()
            assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)


def result(peer: str, *points: tuple[float, float]) -> Result:
    found = Result(peer, "pendulum")
    absorb(found, {"version": "1", "set_up": 0.1, "lines": 5})
    for k, (error, seconds) in enumerate(points):
        point = {"method": "m", "setting": k, "error": error, "seconds": seconds}
        absorb(found, json.loads(json.dumps({"point": point, "first": 0.5})))
    return found


def test_a_lucky_error_does_not_count():
    found = result("casadi", (1e-3, 1.0), (1e-7, 2.0), (1e-5, 3.0), (5e-7, 4.0), (1e-8, 5.0))
    assert found.milliseconds(1e-6) == 4000.0
    assert found.milliseconds(1e-9) is None
    assert found.set_up == 0.6


def test_ratios_and_their_verdicts():
    own, slow, short = result("dalembert", (1e-7, 0.001)), result("casadi", (1e-7, 0.02)), result("exudyn", (1e-3, 4.0))
    rows = {row[0]: row[-2:] for row in ratio_table([own, slow, short]).rows}
    assert rows == {"casadi": ("20x", "missed"), "exudyn": ("> 4e+03x", "met")}


def test_tables_have_whole_rows():
    absent = Result("heyoka", "pendulum", unable="it cannot be installed")
    for table in all_tables([result("dalembert", (1e-7, 0.001)), absent], problem_set.problems()):
        assert all(len(row) == len(table.header) for row in table.rows)


def test_the_page_has_a_place_for_it(root):
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert block_of(page, "peers")
    for picture in re.findall(r"\(pictures/(peers_\w+\.png)\)", page):
        assert (root / "docs" / "pictures" / picture).is_file()
