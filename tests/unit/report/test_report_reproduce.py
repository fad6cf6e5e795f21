"""Reproduction with tiny experiments: files, page, what is kept, what fails."""

import csv
import importlib
import json
import re

import pytest

from dalembert.errors import InputError
from dalembert.papers import Claim, Experiment, Paper, Result, erratum, judged
from dalembert.plots.style import new_figure
from dalembert.report import records, reproduce, reproduction_page
from dalembert.report.records import Record, file_stem, folder_of, stored

PAPER = Paper(9, "tiny", "A. Author, A paper, 1900", "A tiny paper", "About $q_1$.")
GOOD = (judged(True, "It holds for $q_1$.", "1 < 2"), erratum(False, "A slip holds.", "3", "It is a slip."))


def tiny(name: str, claims=GOOD, calls: list | None = None, error: Exception | None = None) -> Experiment:
    def run(quick: bool) -> Result:
        if calls is not None:
            calls.append((name, quick))
        if error is not None:
            raise error
        return Result({"some numbers": {"x": [1.0, float("nan")], "word": ["a,b", "c"]}}, list(claims))

    def draw(result: Result):
        figure = new_figure(3.0, 2.0, ".")
        figure.add_subplot().plot(result.data["some numbers"]["x"])
        return figure

    return Experiment(name, PAPER, f"Title of {name}", "Set up with $h = 1$.\n\nMore `code`.", run, draw)


def run_tiny(folder, *experiments: Experiment, **options):
    return reproduce(output=folder, experiments={e.name: e for e in experiments}, **options)


def test_files(tmp_path):
    result = run_tiny(tmp_path / "new" / "report", tiny("tiny-fig-1"))
    assert result.failures == []
    folder = folder_of(result.index.parent, "tiny-fig-1")
    assert sorted(path.name for path in folder.iterdir()) == [
        "figure.png",
        "figure.svg",
        "result.json",
        "some_numbers.csv",
    ]
    content = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert content["tables"] == {"some numbers": {"x": [1.0, None], "word": ["a,b", "c"]}}
    assert [claim["verdict"] for claim in content["claims"]] == ["confirmed", "refuted"]
    with (folder / "some_numbers.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file)) == [["x", "word"], ["1.0", "a,b"], ["", "c"]]
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_needs_nothing_else(tmp_path):
    text = run_tiny(tmp_path, tiny("tiny-fig-1")).index.read_text(encoding="utf-8")
    assert "http:" not in text
    assert "https:" not in text
    assert "<script" not in text
    assert "@import" not in text
    assert all(source.startswith("data:image/") for source in re.findall(r'src="([^"]*)"', text))
    links = re.findall(r'href="([^"]*)"', text)
    assert all(link.startswith(("#tiny-fig-1", "experiments/tiny-fig-1/")) for link in links)
    for link in links:
        assert link.startswith("#") or (tmp_path / link).is_file()
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text


def test_the_page_tells_all(tmp_path):
    text = run_tiny(tmp_path, tiny("tiny-fig-1"), tiny("tiny-fig-2")).index.read_text(encoding="utf-8")
    assert text.count("<h2>A tiny paper</h2>") == 1
    assert text.count('<section class="experiment"') == 2
    assert "It holds for" in text
    assert "Measured: 1 &lt; 2" in text
    assert "<b>2</b> confirmed" in text
    assert "<b>2</b> refuted, with an explanation" in text
    assert '<span class="formula"><i>h</i> = 1</span>' in text
    assert text.index("Title of tiny-fig-1") < text.index("Title of tiny-fig-2")


def test_large_figures_become_pixels(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction_page, "LARGEST_SVG", 10)
    text = run_tiny(tmp_path, tiny("tiny-fig-1")).index.read_text(encoding="utf-8")
    assert "data:image/png;base64," in text
    assert "svg+xml" not in text


def test_finished_experiments_are_kept(tmp_path):
    calls, events = [], []
    experiment = tiny("tiny-fig-1", calls=calls)
    first = run_tiny(tmp_path, experiment)
    second = run_tiny(tmp_path, experiment, tell=lambda *event: events.append(event))
    assert calls == [("tiny-fig-1", True)]
    assert events == [("tiny-fig-1", "kept")]
    assert second.records == first.records
    run_tiny(tmp_path, experiment, again=True)
    assert len(calls) == 2


def test_other_modes_and_other_code_are_not_kept(tmp_path, monkeypatch):
    calls = []
    experiment = tiny("tiny-fig-1", calls=calls)
    run_tiny(tmp_path, experiment)
    run_tiny(tmp_path, experiment, quick=False)
    assert calls == [("tiny-fig-1", True), ("tiny-fig-1", False)]
    assert stored("tiny-fig-1", False, tmp_path) is not None
    assert stored("tiny-fig-1", True, tmp_path) is None
    monkeypatch.setattr(records, "code_identity", lambda: "other")
    assert stored("tiny-fig-1", False, tmp_path) is None


@pytest.mark.parametrize("damage", ["cut", "no figure", "wrong claim"])
def test_damaged_results_are_computed_again(tmp_path, damage):
    experiment = tiny("tiny-fig-1")
    run_tiny(tmp_path, experiment)
    folder = folder_of(tmp_path, "tiny-fig-1")
    path = folder / "result.json"
    if damage == "cut":
        path.write_text(path.read_text(encoding="utf-8")[:50], encoding="utf-8")
    elif damage == "no figure":
        (folder / "figure.png").unlink()
    else:
        path.write_text(path.read_text(encoding="utf-8").replace('"confirmed"', '"perhaps"'), encoding="utf-8")
    assert stored("tiny-fig-1", True, tmp_path) is None


def test_a_contradiction_is_a_failure(tmp_path):
    wrong = judged(False, "It holds.", "it does not")
    surprise = erratum(True, "A slip holds.", "it does", "It should not.")
    result = run_tiny(tmp_path, tiny("tiny-fig-1", claims=(wrong, surprise)))
    assert result.failures == [
        "tiny-fig-1: refuted: It holds. (it does not)",
        "tiny-fig-1: confirmed: A slip holds. (it does)",
    ]
    text = result.index.read_text(encoding="utf-8")
    assert "<b>2</b> against expectation" in text
    assert "refuted, unexpectedly" in text


def test_an_experiment_that_raises_is_reported_and_the_others_run(tmp_path):
    events = []
    bad, good = tiny("tiny-fig-1", error=ValueError("no <luck>")), tiny("tiny-fig-2")
    result = run_tiny(tmp_path, bad, good, tell=lambda *event: events.append(event))
    assert result.failures == ["tiny-fig-1: ValueError: no <luck>"]
    assert ("tiny-fig-1", "failed") in events
    assert ("tiny-fig-2", "done") in events
    assert "no <luck>" in (folder_of(tmp_path, "tiny-fig-1") / "error.txt").read_text(encoding="utf-8")
    text = result.index.read_text(encoding="utf-8")
    assert "It failed: ValueError: no &lt;luck&gt;" in text
    assert stored("tiny-fig-1", True, tmp_path) is None


def test_a_process_that_dies_is_reported(tmp_path, monkeypatch):
    module = importlib.import_module("dalembert.report.reproduce")
    pools = []
    monkeypatch.setattr(module, "_run_pool", lambda names, *rest: pools.append(list(names)))
    found = module._run_in_processes(
        {name: tiny(name) for name in ("tiny-fig-1", "tiny-fig-2")}, True, tmp_path, 2, lambda *event: None
    )
    assert pools == [["tiny-fig-1", "tiny-fig-2"], ["tiny-fig-1"], ["tiny-fig-2"]]
    assert found["tiny-fig-1"] == Record("tiny-fig-1", error="its process died without a word (out of memory?).")


def test_wrong_input(tmp_path):
    with pytest.raises(InputError, match="unknown experiment 'nothing'"):
        reproduce(["nothing"], tmp_path)
    with pytest.raises(InputError, match="jobs must be at least 1, got 0"):
        reproduce(["jay-fig-8.1"], tmp_path, jobs=0)
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot write the report to"):
        reproduce(["jay-fig-8.1"], blocked)


def test_names_of_files():
    assert file_stem("s = 5, w = 4, h = 0.1") == "s_5_w_4_h_0.1"
    assert file_stem("λ") == "table"


def test_verdicts_in_words():
    words = reproduction_page.verdict_words
    assert words(Claim("a", "confirmed", "b")) == ("confirmed", "good")
    assert words(Claim("a", "confirmed with a correction", "b")) == ("confirmed with a correction", "warn")
    assert words(Claim("a", "refuted", "b")) == ("refuted, explained", "warn")
    assert words(Claim("a", "refuted", "b", as_expected=False)) == ("refuted, unexpectedly", "bad")


@pytest.mark.long
def test_experiments_in_processes_of_their_own(tmp_path):
    result = reproduce(["jay-fig-8.1", "jay-fig-8.2"], tmp_path, jobs=2)
    assert result.failures == []
    assert list(result.records) == ["jay-fig-8.1", "jay-fig-8.2"]
    assert all((folder_of(tmp_path, name) / "result.json").is_file() for name in result.records)
