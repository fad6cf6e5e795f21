"""A mistake of the user's: one readable line on standard error, the right exit status, no traceback."""

import os

import pytest

import dalembert as da
from dalembert.cli.app import main

WRONG_INPUT = [
    (("nope",), "unknown command 'nope'; expected one of: check, compare, "),
    (("simulat", "pendulum"), "Did you mean 'simulate'?"),
    (("simulate",), "Missing argument"),
    (("simulate", "pendulum", "--nope"), "No such option: --nope"),
    (("simulate", "pendulum", "--h", "abc"), "Invalid value for '--h'"),
    (("simulate", "pendulom"), "unknown system 'pendulom'; expected a file such as model.py:Class"),
    (("simulate", "pendulum", "--method", "euler"), "unknown method 'euler'; expected one of: energy-momentum, "),
    (("simulate", "pendulum", "--h", "0.3", "--t-end", "1"), "h = 0.3 does not divide the interval [0, 1]"),
    (("simulate", "pendulum", "--h", "-1"), "h must be a positive number, got -1.0"),
    (("simulate", "pendulum", "--t-end", "0"), "t must be a pair (t0, t1) of finite numbers with two different times"),
    (("simulate", "pendulum", "--param", "weight=1"), "no parameter 'weight'; it has: length, gravity"),
    (("simulate", "pendulum", "--param", "length"), "--param must be NAME=VALUE, such as length=2.0; got"),
    (("simulate", "pendulum", "--param", "length=nan"), "parameter length must be finite, got nan"),
    (("simulate", "pendulum", "--param", "length=two"), "length of Pendulum must be a number, got 'two'"),
    (("simulate", "chain", "--param", "links=2.5"), "Chain expects links as a positive integer, got 2.5"),
    (("simulate", "pendulum", "--q0", "a,b", "--v0", "0,0"), "--q0 must be numbers separated by commas"),
    (("simulate", "pendulum", "--q0", "", "--v0", "0,0"), "--q0 must be numbers separated by commas"),
    (("simulate", "pendulum", "--q0", "1,0"), "add the velocity --v0 or the momentum --p0"),
    (("simulate", "pendulum", "--v0", "0,0", "--p0", "0,0"), "give one of --v0 (velocity) and --p0"),
    (("simulate", "pendulum", "--q0", "2,0", "--v0", "0,0"), "position level: g(t0, q0) = 1.5, expected 0"),
    (("simulate", "pendulum", "--v0", "0,0,0"), "v0 must have the shape of q0, (2,), got (3,)"),
    (("simulate", "pendulum", "--engine", "gpu"), "engine must be \"auto\", \"native\", \"xla\" or \"cuda\""),
    (("simulate", "pendulum", "--redundant", "no"), "redundant must be \"refuse\" or \"allow\""),
    (("simulate", "pendulum", "--save-every", "7"), "save_every = 7 does not divide the 1000 steps"),
    (("simulate", "pendulum", "--out", "missing/run.nc"), "the folder missing does not exist"),
    (("simulate", "pendulum", "--out", "run.txt"), "cannot save a run to run.txt: expected a name"),
    (("simulate", "pendulum", "--plot", "run.bmp"), "cannot save a figure to run.bmp: expected"),
    (("simulate", "pendulum", "--animate", "run.png"), "cannot save a film to run.png: expected"),
    (("simulate", "folder/model.txt:A"), "expected a file such as model.py:Class, got"),
    (("check", "pendulum", "--q0", "1,0", "--v0", "0"), "v0 must have the shape of q0, (2,), got (1,)"),
    (("converge", "pendulum", "--levels", "1"), "--levels must lie between 2 and 16, got 1"),
    (("converge", "pendulum", "--plot", "orders"), "ending in .png, .pdf, .svg, .jpg, got no ending"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "message"), WRONG_INPUT, ids=lambda value: str(value)[:40])
def test_wrong_input(dalembert, words, message):
    answer = dalembert(*words)
    assert answer.status == 2
    assert answer.error.startswith("error: ")
    assert message in answer.error
    assert answer.error.count("\n") == 1
    assert answer.out == ""


def test_advice_is_given_in_options(dalembert):
    error = dalembert("simulate", "pendulum", "--q0", "2,0", "--v0", "0,0").error
    assert "add --project to move it onto the constraints; `dalembert check` says how far." in error
    assert "project=True" not in error


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Nothing", "defines no 'Nothing'; its systems: Pendulum, Masses, spring"),
        ("number", "number in {path} is int; expected a class derived from da.System"),
        ("function", "function in {path} is a function; expected a class derived from da.System"),
        ("da", "da in {path} is module; expected a class derived from da.System"),
    ],
)
def test_name_in_a_file_that_is_no_system(dalembert, model, name, message):
    answer = dalembert("simulate", f"{model}:{name}", "--q0", "1,0", "--v0", "0,0")
    assert answer.status == 2
    assert message.format(path=model) in answer.error
    assert answer.error.count("\n") == 1


def test_file_with_several_systems_and_no_name(dalembert, model):
    error = dalembert("simulate", model).error
    assert f"say which system of {model} is meant, as {model}:Name; it has: Pendulum, Masses, spring" in error


def test_model_without_starting_values(dalembert, model):
    error = dalembert("simulate", f"{model}:Pendulum").error
    assert error == ("error: Pendulum brings no starting values: add --q0 and --v0, for example --q0 1,0 --v0 0,0\n")


def test_model_with_a_parameter_left_out(dalembert, model):
    error = dalembert("simulate", f"{model}:Masses", "--q0", "0", "--v0", "1").error
    assert error == "error: Masses needs values for masses: add --param masses=...\n"


def test_model_whose_function_fails(dalembert, tmp_path):
    path = tmp_path / "model.py"
    path.write_text(
        "import dalembert as da\n\n\nclass Bad(da.System):\n"
        "    def lagrangian(self, t, q, v):\n        return undefined_name\n"
    )
    answer = dalembert("check", f"{path}:Bad", "--q0", "0", "--v0", "1")
    assert answer.status == 2
    assert "Bad.lagrangian failed when traced" in answer.error
    assert "NameError: name 'undefined_name' is not defined" in answer.error


def test_model_may_import_its_neighbours(dalembert, model, tmp_path):
    (tmp_path / "main_model.py").write_text("from model import Pendulum\n")
    answer = dalembert("check", tmp_path / "main_model.py", "--q0", "1,0", "--v0", "0,0")
    assert (answer.status, answer.error) == (0, "")


def test_failed_run_is_printed_and_saved_with_status_1(dalembert, tmp_path):
    run, figure = tmp_path / "run.nc", tmp_path / "run.png"
    answer = dalembert("simulate", "pendulum", "--h", "2.5", "--t-end", "10", "--out", run, "--plot", figure)
    assert answer.status == 1
    assert answer.error.startswith("error: step ")
    assert "try a smaller h" in answer.error
    assert answer.error.count("\n") == 1
    assert "stopped" in answer.out
    assert not da.load(run).status
    assert figure.is_file()


def test_unexpected_error_is_one_line_and_traceback_on_request(dalembert, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("somewhere\ndeep")

    monkeypatch.setattr("dalembert.cli.simulating.simulate", broken)
    answer = dalembert("simulate", "pendulum")
    assert answer.status == 1
    assert answer.error == (
        "error: unexpected ZeroDivisionError: somewhere deep (dalembert --traceback ... shows where)\n"
    )
    with pytest.raises(ZeroDivisionError):
        dalembert("--traceback", "simulate", "pendulum")


def test_interruption(dalembert, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("dalembert.cli.simulating.simulate", interrupted)
    answer = dalembert("simulate", "pendulum")
    assert (answer.status, answer.error) == (130, "error: interrupted.\n")


def test_main_exits_with_the_status(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["simulate", "nothing-known"])
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("error: unknown system")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder in which nobody can make a file")
@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "pendulum", "--out", "/proc/self/run.nc"),
        ("simulate", "pendulum", "--plot", "/proc/self/run.png"),
        ("simulate", "pendulum", "--animate", "/proc/self/run.gif"),
        ("simulate", "pendulum", "--checkpoint", "/proc/self/run.zarr"),
        ("converge", "pendulum", "--plot", "/proc/self/orders.png"),
        ("compare", "pendulum", "--out", "/proc/self"),
        ("demo", "--out", "/proc/self"),
        ("reproduce", "--output", "/proc/self"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_written_is_refused_before_the_work(dalembert, monkeypatch, words):
    def work(*arguments, **options):
        raise AssertionError("the work was begun")

    for name in ("choose_engine", "NativeRun"):
        monkeypatch.setattr(f"dalembert.engine.runners.choice.{name}", work)
    answer = dalembert(*words)
    assert answer.status == 2
    assert "/proc/self" in answer.error
