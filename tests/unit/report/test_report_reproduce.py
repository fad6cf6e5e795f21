"""Reproduction with tiny experiments: files, page, what is kept, what fails."""

import csv
import importlib
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dalembert.errors import InputError
from dalembert.papers import EXPERIMENTS, MOTIONS, Claim, Experiment, Motion, Paper, Result, erratum, judged
from dalembert.plots.style import new_figure
from dalembert.report import embedding, records, reproduce, reproduction_page
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
        "panels.json",
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
    assert "https:" not in text
    # the name of a vocabulary, which nobody fetches
    assert "http:" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "@import" not in text
    assert all(source.startswith("data:image/") for source in re.findall(r'src="([^"]*)"', text))
    links, ids = re.findall(r'href="([^"]*)"', text), re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))
    for link in links:
        assert link[1:] in ids if link.startswith("#") else (tmp_path / link).is_file(), link
    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text


def test_the_page_tells_all(tmp_path):
    text = run_tiny(tmp_path, tiny("tiny-fig-1"), tiny("tiny-fig-2")).index.read_text(encoding="utf-8")
    assert text.count('<h2 id="paper-tiny">A tiny paper</h2>') == 1
    assert text.count('<section class="experiment"') == 2
    assert "It holds for" in text
    assert "Measured: 1 &lt; 2" in text
    assert "<b>2</b> confirmed" in text
    assert "<b>2</b> refuted, with an explanation" in text
    assert '<span class="formula"><i>h</i> = 1</span>' in text
    assert text.index("Title of tiny-fig-1") < text.index("Title of tiny-fig-2")


def test_large_figures_become_pixels(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "LARGEST_SVG", 10)
    text = run_tiny(tmp_path, tiny("tiny-fig-1")).index.read_text(encoding="utf-8")
    assert "data:image/png;base64," in text
    assert "<svg" not in text


def test_panels_know_their_axes(tmp_path):
    def draw(result: Result):
        figure = new_figure(6.0, 4.0, ".")
        first, second, table = figure.subplots(3, 1)
        first.semilogx([1.0, 100.0], [2e-7, 8e-7])
        first.set_xlim(1.0, 100.0)
        second.sharex(first)
        second.plot([1.0, 100.0], [-1.0, 1.0])
        table.plot([0.0, 1.0])
        table.set_navigate(False)
        figure.add_axes((0.8, 0.8, 0.1, 0.1), projection="3d")
        return figure

    run_tiny(tmp_path, replace(tiny("tiny-fig-1"), draw=draw))
    first, second = json.loads((folder_of(tmp_path, "tiny-fig-1") / "panels.json").read_text(encoding="utf-8"))
    assert (first["shares_x"], second["shares_x"]) == ([1], [0])
    assert first["x"] == pytest.approx({"low": 1.0, "high": 100.0, "log": True, "unit": 1.0})
    assert first["y"]["unit"] == pytest.approx(1e-7)
    assert second["y"]["unit"] == pytest.approx(1.0)
    left, top, width, height = first["box"]
    assert 0 < left < left + width < 432
    assert 0 < top < top + height < second["box"][1] < 288


def test_ids_of_figures_do_not_meet_in_the_page():
    file = (
        '<?xml version="1.0"?>\n<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="72pt" height="72pt" '
        'viewBox="0 0 72 72" xmlns="http://www.w3.org/2000/svg"><metadata>x</metadata><!-- y --><g id="a">'
        '<path d="M 0 0 \nL 1.23456 -2.34567 \n" clip-path="url(#b)"/><use xlink:href="#m"/></g></svg>'
    )
    text = embedding.inline_svg(file, "fig", 'a "title"')
    assert 'id="fig--a"' in text
    assert "url(#fig--b)" in text
    assert ' href="#fig--m"' in text
    assert "L 1.234 -2.345 " in text
    assert 'aria-label="a &quot;title&quot;" style="--natural: 72px"' in text
    assert not any(word in text for word in ("xmlns", "metadata", "<!--", "72pt"))


def test_motions_are_kept_and_shown(tmp_path, monkeypatch):
    calls = []

    def swing() -> Motion:
        calls.append("swing")
        t = np.linspace(0.0, 1.0, 5)
        points = np.stack([np.sin(t), -np.cos(t)], axis=1)[:, None]
        return Motion("A <swing>", "with $q_1$", t, points, names=("mass",), bars=((None, 0),))

    monkeypatch.setitem(MOTIONS, "tiny", {"swing": swing})
    run_tiny(tmp_path, tiny("tiny-fig-1"))
    text = run_tiny(tmp_path, tiny("tiny-fig-1")).index.read_text(encoding="utf-8")
    assert calls == ["swing"]
    assert (tmp_path / "motions" / "tiny-swing.json").is_file()
    assert text.count('<figure class="motion">') == 1
    assert "A &lt;swing&gt;" in text
    run_tiny(tmp_path, tiny("tiny-fig-1"), again=True)
    assert calls == ["swing", "swing"]


def test_a_motion_that_fails_is_a_failure(tmp_path, monkeypatch):
    def bad() -> Motion:
        raise ValueError("no luck")

    monkeypatch.setitem(MOTIONS, "tiny", {"bad": bad})
    result = run_tiny(tmp_path, tiny("tiny-fig-1"))
    assert result.failures == ["motions of tiny: ValueError: no luck"]
    assert "no luck" in result.index.read_text(encoding="utf-8")


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


@pytest.mark.long
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_full_version_of_every_experiment(name, tmp_path):
    """All that the papers show: no failure, and nothing that contradicts what should hold."""
    result = reproduce([name], tmp_path, quick=False, jobs=1)
    assert result.failures == []
    assert "This is the full version" in result.index.read_text(encoding="utf-8")
