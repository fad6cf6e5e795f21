"""`dalembert reproduce`: what it prints and how it ends."""

import pytest

from dalembert.cli import reproducing
from dalembert.cli.app import run
from dalembert.papers import EXPERIMENTS
from dalembert.report import reproduce


def test_unknown_names_are_wrong_input(capsys, tmp_path):
    assert run(["reproduce", "nothing", "--output", str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert "unknown experiment 'nothing'; expected one of: " in message
    assert all(name in message for name in EXPERIMENTS)


def test_one_small_experiment(capsys, tmp_path):
    arguments = ["reproduce", "jay-fig-8.2", "--output", str(tmp_path), "--jobs", "1"]
    assert run(arguments) == 0
    printed = capsys.readouterr().out
    assert "done    jay-fig-8.2" in printed
    assert "2 claims, all as expected." in printed
    assert (tmp_path / "index.html").is_file()
    assert run(arguments) == 0
    assert "kept    jay-fig-8.2" in capsys.readouterr().out


@pytest.mark.parametrize("outcome", ["raises", "contradicts"])
def test_failures_end_with_status_1(capsys, tmp_path, monkeypatch, outcome):
    experiment = EXPERIMENTS["jay-fig-8.1"]

    def broken(quick):
        if outcome == "raises":
            raise RuntimeError("broken")
        result = experiment.run(True)
        claim = result.claims[0]
        result.claims = [type(claim)(claim.statement, "refuted", claim.measured, as_expected=False)]
        return result

    changed = type(experiment)(experiment.name, experiment.paper, "title", "setup", broken, experiment.draw)
    monkeypatch.setattr(
        reproducing, "reproduce", lambda names, output, **rest: reproduce(
            output=output, experiments={changed.name: changed}, **rest
        ),
    )  # fmt: skip
    assert run(["reproduce", "jay-fig-8.1", "--output", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "1 failure: jay-fig-8.1: " in captured.err
    assert ("RuntimeError: broken" if outcome == "raises" else "refuted") in captured.err
    assert (tmp_path / "index.html").is_file()


def test_help_names_the_options(capsys):
    assert run(["reproduce", "--help"]) == 0
    printed = capsys.readouterr().out
    for option in ("--quick", "--full", "--output", "--jobs", "--again"):
        assert option in printed
