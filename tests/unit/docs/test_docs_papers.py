"""The page of the papers: nothing in it points to nothing, and no number of a paper is left out."""

import make_papers
import pytest
from benchmarks.pages import block_of

ENTRIES = make_papers.entries()


def section(number: int, last: int) -> list[str]:
    return [f"({number}.{k})" for k in range(1, last + 1)]


def named(kind: str, *numbers) -> list[str]:
    return [f"{kind} {number}" for number in numbers]


#: What is numbered in the papers: equations, theorems and their like, figures, tables.
NUMBERED = {
    "odae": [*section(2, 2), *section(3, 8), *section(4, 2), *named("theorem", 3.1, 3.2, 3.3),
             *named("figure", 4.1, 4.2, 4.3, 4.4)],
    "gonzalez": [*(f"({k})" for k in range(1, 35)), *named("proposition", 2.1, 3.1), *named("figure", 1, 2, 3, 4)],
    "jay": [*section(2, 8), *section(3, 2), *section(4, 5), *section(5, 5), *section(6, 3), *section(7, 3),
            "definition 4.1", "theorem 6.1", *named("figure", 8.1, 8.2, 8.3, 8.4)],
    "wenger": [*(f"({k})" for k in range(1, 72)), *named("theorem", 1, 2), "lemma 1", "assumption 1",
               *named("table", 1, 2), *named("figure", 1, 2, 3, 4, 5)],
    "acary": [*(f"({k})" for k in range(1, 72)), *named("proposition", 1, 2, 3), "lemma 1", "theorem 1", "algorithm 1",
              *named("assumption", 1, 2, 3, 4, 5), *named("definition", 1, 2), *named("example", 1, 2, 3),
              *named("figure", 1, 2, 3, 4, 5)],
}  # fmt: skip


@pytest.mark.parametrize("paper", list(NUMBERED))
def test_every_number_of_a_paper_has_its_row(paper):
    found = [number for entry in ENTRIES if entry.paper == paper for number in make_papers.numbers(entry.at)]
    assert sorted({number for number in found if found.count(number) > 1}) == []
    assert [number for number in NUMBERED[paper] if number not in found] == []
    known = (*NUMBERED[paper], "section", "after", "introduction", "outlook", "conclusion", "(64), complementarity")
    assert [number for number in found if not number.startswith(known)] == []


def test_every_row_points_to_code_and_to_a_test_or_has_a_reason():
    for entry in ENTRIES:
        assert bool(entry.code) != bool(entry.reason), entry
        assert entry.test or entry.reason, entry
        assert not entry.reason or len(entry.reason.split()) >= 4, entry


def test_all_that_is_named_exists():
    wrong = [make_papers.code_error(place) for entry in ENTRIES for place in entry.code]
    wrong += [make_papers.test_error(test) for entry in ENTRIES for test in entry.test]
    assert [error for error in wrong if error] == []


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("method/rattle.py::Rattle.residual", None),
        ("method/spark.py::Spark.tableau", None),
        ("method/rattel.py::Rattle", "there is no file src/dalembert/method/rattel.py"),
        ("method/rattle.py::Rattel", "dalembert.method.rattle has no Rattel"),
        ("method/rattle.py::Rattle.residue", "Rattle has no residue"),
    ],
)
def test_a_place_in_the_code_that_is_none_is_found_out(place, error):
    found = make_papers.code_error(place)
    assert found is None if error is None else error in found


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("reproduce jay-fig-8.1", None),
        ("test_docs_papers::test_all_that_is_named_exists", None),
        ("reproduce jay-fig-8.9", "no such experiment"),
        ("test_docs_paper::test_all", "no file test_docs_paper.py"),
        ("test_docs_papers::test_some", "test_docs_papers.py has no test_some"),
    ],
)
def test_a_test_that_is_none_is_found_out(name, error):
    found = make_papers.test_error(name)
    assert found is None if error is None else error in found


def test_the_page_is_that_of_the_data(root):
    page = (root / "docs" / "papers.md").read_text(encoding="utf-8")
    assert block_of(page, "papers") == make_papers.text(), "run: python docs/make_papers.py"
