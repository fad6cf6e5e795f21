"""The demonstration on two small systems: files, page, verdict."""

import dataclasses

import pytest

import dalembert as da
from dalembert import report
from dalembert.gallery import GALLERY
from dalembert.method import CATALOGUE
from dalembert.report.demo import DEMONSTRATED, demonstrate
from dalembert.report.measure import measure
from dalembert.report.page import Picture, page

SMALL = {name: GALLERY[name] for name in ("pendulum", "harmonic-oscillator")}


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> report.Demonstration:
    calls = []
    found = demonstrate(tmp_path_factory.mktemp("demo") / "report", SMALL, lambda *call: calls.append(call))
    assert calls[0] == ("pendulum", 0, 3)
    assert calls[-1] == ("done", 3, 3)
    return found


def test_every_fitting_method_is_measured(result):
    pairs = [(m.system_name, m.method_name) for m in result.measurements]
    assert pairs == [(name, method) for name in SMALL for method in DEMONSTRATED]
    for found in result.measurements:
        assert found.orders["q"] == pytest.approx(CATALOGUE[found.method_name].method.order, abs=0.2)
        assert found.steps_per_second > 0
        assert found.conserves_energy


def test_files_are_written(result):
    folder = result.index.parent
    assert sorted(path.name for path in (folder / "runs").iterdir()) == [
        f"{name}_{method}.nc" for name in sorted(SMALL) for method in sorted(DEMONSTRATED)
    ]
    assert len(da.load(folder / "runs" / "pendulum_rattle.nc")) == 1001
    figures = {path.name for path in (folder / "figures").iterdir()}
    assert figures == {
        "pendulum.png",
        "harmonic-oscillator.png",
        "convergence_gauss-spark-2.png",
        "convergence_rattle.png",
        "convergence_shake.png",
    }
    assert (folder / "film.gif").is_file()


def test_page_is_self_contained(result):
    text = result.index.read_text(encoding="utf-8")
    assert text.count("data:image/png;base64,") == 5
    assert text.count("data:image/gif;base64,") == 1
    assert "http://" not in text
    assert "https://" not in text
    assert "<script" not in text
    assert "prefers-color-scheme: dark" in text
    assert 'name="viewport"' in text
    assert text.count("<tr>") == 1 + len(result.measurements)


def test_page_shows_failures(result, tmp_path):
    found = result.measurements[0]
    found.failures, before = ["order of q: 1.00 < 2"], found.failures
    try:
        film = Picture(result.index.parent / "film.gif", "a film")
        text = page([found], ["pendulum with rattle: order of q: 1.00 < 2"], film, [], [], "here")
    finally:
        found.failures = before
    assert "1 claim does not hold" in text
    assert "pendulum with rattle: order of q: 1.00 &lt; 2" in text


def test_claims_that_fail_are_found(monkeypatch):
    """A method that claims one order more than it has, and a constraint that it does not keep."""
    wrong = dataclasses.replace(da.Shake.claims, order=3, constraints=("position", "velocity"))
    monkeypatch.setattr(da.Shake, "claims", wrong)
    found = measure("pendulum", GALLERY["pendulum"](), "shake", da.Shake())
    assert [text.partition(":")[0] for text in found.failures] == [
        "order of q",
        "order of p",
        "constraint at velocity level",
    ]


def test_command_exits_with_1_where_a_claim_fails(dalembert, tmp_path, monkeypatch, result):
    def failing(folder, report):
        return type(result)(result.measurements, ["pendulum with rattle: order of q: 1.00"], result.index)

    monkeypatch.setattr("dalembert.cli.demo.demonstrate", failing)
    answer = dalembert("demo", "--out", tmp_path / "report")
    assert answer.status == 1
    assert answer.error == "error: 1 claim does not hold: pendulum with rattle: order of q: 1.00\n"
    assert str(result.index) in answer.out
    assert "harmonic-oscillator" in answer.out


def test_command_says_that_all_claims_hold(dalembert, tmp_path, monkeypatch, result):
    monkeypatch.setattr(
        "dalembert.cli.demo.demonstrate",
        lambda folder, report: type(result)(result.measurements, [], result.index),
    )
    answer = dalembert("demo", "--out", tmp_path / "report")
    assert answer.status == 0
    assert "All claims hold in 6 runs." in answer.out


def test_folder_that_cannot_be_made(dalembert, tmp_path):
    (tmp_path / "file").write_text("in the way")
    answer = dalembert("demo", "--out", tmp_path / "file")
    assert answer.status == 2
    assert answer.error.startswith(f"error: cannot write the report to {tmp_path / 'file'}: ")
