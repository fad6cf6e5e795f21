"""The passes of the engine: every step tells how it became code, and the program can be read between them."""

import itertools
import os

import numpy as np
import pytest
from engine_runners import functions_and_start

import dalembert as da
from dalembert.engine.elimination.array_elimination import TooIrregular
from dalembert.engine.elimination.sparse_elimination import TooManyOperations
from dalembert.engine.program.listing import listing
from dalembert.engine.program.passes import Draft, Pass, run_passes
from dalembert.engine.program.program import Program
from dalembert.engine.runners import translation
from dalembert.engine.runners.native import NativeRun
from dalembert.engine.step.array_step import build_array_step
from dalembert.engine.step.step_program import build_step_program

STRAIGHT = ["trace", "scale", "substitute", "complement", "order", "eliminate", "doubts", "shorten", "finish"]
ROLLED = ["trace", "simplify", "look ahead", "scale", "substitute", "order", "eliminate", "finish"]


def names(log):
    return [record["pass"] for record in log]


def test_a_run_tells_its_passes_in_order():
    pendulum = da.gallery.Chain(links=2)
    start = pendulum.start()
    run = da.simulate(pendulum, da.Rattle(), start.q0, start.v0, t=(0.0, 0.1), h=0.01)
    passes = run.stats["passes"]
    assert names(passes) == [*STRAIGHT, "emit", "compile", "scales"]
    assert {record["code"] for record in passes} == {"straight-line"}
    assert all(record["seconds"] >= 0 for record in passes)
    by_name = {record["pass"]: record for record in passes}
    assert by_name["trace"]["after"]["unknowns"] == run.stats["unknowns"]
    assert by_name["trace"]["after"]["nonzeros"] == run.stats["nonzeros"]
    left = run.stats["unknowns"] - run.stats["substituted"]
    assert by_name["substitute"]["after"]["unknowns"] == left
    assert by_name["eliminate"]["after"]["unknowns"] == sum(run.stats["newton_unknowns"])
    assert by_name["complement"]["after"]["nonzeros"] < by_name["trace"]["after"]["nonzeros"]
    for one, following in itertools.pairwise(passes[: len(STRAIGHT)]):
        assert following["before"] == one["after"]
    passes.clear()  # belongs to the user: the next run has its own
    again = da.simulate(pendulum, da.Rattle(), start.q0, start.v0, t=(0.0, 0.1), h=0.01)
    assert len(again.stats["passes"]) > len(STRAIGHT)


def test_a_large_step_tells_its_passes_too():
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=40), da.Rattle())
    step = build_array_step(functions, state, 0.0, 0.01, parameters)
    assert names(step.log) == ROLLED
    by_name = {record["pass"]: record for record in step.log}
    assert by_name["eliminate"]["after"]["unknowns"] == sum(step.statistics["newton_unknowns"])
    assert by_name["scale"]["after"]["nonzeros"] == step.statistics["nonzeros"]


@pytest.mark.parametrize(("most", "where"), [(500, "trace"), (5000, "eliminate")])
def test_what_is_given_up_is_told(tune, most, where):
    """Straight lines with too many operations, then loops that are too irregular, then straight lines whatever."""
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=4), da.Galerkin(2))
    tune(bands_from=0)
    tune(most_straight_operations=most)
    tune(most_lonely=-1)
    tune(lonely_part=0.0)
    run = NativeRun(functions, state, 0.0, 0.01, parameters, compensated=False)
    passes = run.report()["passes"]
    given_up = {(record["code"], record["pass"]): record["gave_up"] for record in passes if "gave_up" in record}
    assert given_up == {
        ("straight-line", where): str(TooManyOperations()),
        ("rolled", "schedule"): str(TooIrregular()),
    }
    assert names(passes)[-len(STRAIGHT) - 3 :] == [*STRAIGHT, "emit", "compile", "scales"]
    assert run.report()["code"] == "straight-line"


@pytest.mark.parametrize("extended", [False, True])
def test_ways_of_a_step(extended):
    """Small: straight lines. Between: loops where there are too many. Large: loops; more with 80-bit floats only."""
    arithmetic = translation.Arithmetic(extended=extended)

    def kinds(links, method):
        functions, *_ = functions_and_start(da.gallery.Chain(links=links), method)
        return [way.compiled.kind for way in translation.ways(functions, arithmetic)]

    assert kinds(2, da.Rattle()) == ["straight-line"]
    assert kinds(10, da.Rattle()) == ["straight-line", "rolled", "straight-line"]
    assert kinds(40, da.Rattle()) == (["rolled", "straight-line"] if extended else ["rolled"])


def test_a_pass_that_fails_is_logged():
    def fail(draft):
        raise ValueError("no")

    draft = Draft()
    with pytest.raises(ValueError, match="no"):
        run_passes([Pass("fails", fail), Pass("never", fail)], draft)
    assert [(record["pass"], record["gave_up"]) for record in draft.log] == [("fails", "no")]


def test_listing_of_a_program_is_readable():
    program = Program()
    x, length = program.input(("x", 0)), program.input(("parameter", 1))
    result = program.mul(program.add(x, program.const(2.0)), length)
    lines = list(listing(program, {"result": np.array([result])}))
    assert lines[1:] == [
        f"%{x} = x[0]", f"%{length} = parameter[1]", f"%{program.const(2.0)} = 2.0",
        f"%{program.add(x, program.const(2.0))} = add %{x} %{program.const(2.0)}",
        f"%{result} = mul %{length} %{program.add(x, program.const(2.0))}", f"result: %{result}",
    ]  # fmt: skip


@pytest.mark.parametrize(("build", "passes"), [(build_step_program, STRAIGHT), (build_array_step, ROLLED)])
def test_the_program_is_written_between_passes(build, passes, tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_DUMP", str(tmp_path / "dump"))
    functions, state, parameters = functions_and_start(da.gallery.Chain(links=3), da.Rattle())
    build(functions, state, 0.0, 0.01, parameters)
    files = sorted((tmp_path / "dump").iterdir())
    assert [file.stem.split("-", 2)[2].rsplit("-", 1)[-1] for file in files] == [name.split()[-1] for name in passes]
    assert all(f"-{os.getpid()}-" in file.name for file in files)
    text = files[-1].read_text()
    assert "= x[" in text
    assert "equations: %" in text
    assert "finish: %" in text
