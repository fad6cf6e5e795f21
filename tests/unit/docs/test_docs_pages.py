"""The code on the pages runs, in order, and prints what the pages say it prints."""

import page_code
import pytest


@pytest.mark.parametrize("name", page_code.PAGES)
def test_code_of_page(name, root, empty_folder):
    text = (root / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert "```python" in text
    for output in page_code.run_page(text, name):
        assert page_code.comparable(output.found) == page_code.comparable(output.expected)


def test_every_page_with_code_is_run(root):
    with_code = {path.stem for path in (root / "docs").glob("*.md") if "```python" in path.read_text(encoding="utf-8")}
    assert with_code == set(page_code.PAGES)


def test_the_first_page_leads_to_all_others(root):
    text = (root / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (root / "docs").glob("*.md")} - {"index.md"}
    assert {page for page in pages if f"]({page})" not in text} == set()


def test_an_output_that_differs_is_found():
    page = "```python\nprint('two words')\n```\n\n```text\nother words\n```\n"
    (output,) = page_code.run_page(page, "example")
    assert page_code.comparable(output.found) != page_code.comparable(output.expected)


def test_an_error_the_page_does_not_show_is_raised():
    with pytest.raises(ZeroDivisionError):
        page_code.run_page("```python\n1 / 0\n```\n", "example")


def test_digits_do_not_matter_but_words_and_whole_numbers_do():
    assert page_code.comparable("a = 1.25e-3") == page_code.comparable("a  =\n1.26e-3")
    assert page_code.comparable("step 3") != page_code.comparable("step 4")


def test_a_four_bar_from_nothing_takes_at_most_twelve_lines(root):
    text = (root / "docs" / "multibody.md").read_text(encoding="utf-8")
    block = text[text.index("## A loop") :].split("```python\n")[1].split("```")[0].splitlines()
    (end,) = (k for k, line in enumerate(block) if line.startswith("run = da.simulate("))
    assert end + 1 <= 12
    assert sum("model.joint(" in line for line in block[:end]) == 4
