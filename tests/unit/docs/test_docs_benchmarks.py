"""The benchmarks run, the C program computes the same motion, and what is measured has a place in the pages."""

import pytest
from benchmarks.__main__ import sections
from benchmarks.c_program import compiler, disagreement
from benchmarks.cases import cases
from benchmarks.engine import AGREEMENT, SHORT_RUN
from benchmarks.pages import block_of
from benchmarks.tables import Table


@pytest.mark.skipif(compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("name", ["pendulum", "two-links", "ten-links"])
def test_c_program_agrees(name):
    assert disagreement(cases()[name], SHORT_RUN) < AGREEMENT


def test_every_table_has_a_place(root):
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in (*(set(sections(1, 1.0, None)) - {"compensated", "work_precision", "plan_orders"}), "sizes", "machine"):
        assert block_of(page, name)
    assert block_of((root / "docs" / "compensated_summation.md").read_text(encoding="utf-8"), "compensated")
    assert block_of((root / "docs" / "choose_a_method.md").read_text(encoding="utf-8"), "work_precision")
    assert block_of((root / "docs" / "control.md").read_text(encoding="utf-8"), "plan_orders")
    assert block_of((root / "README.md").read_text(encoding="utf-8"), "speed")


@pytest.mark.long
@pytest.mark.parametrize("name", sections(1, 1.0, None))
def test_every_section_runs(name, tmp_path):
    for table in sections(1, 0.001, tmp_path / "picture.png")[name]().values():
        assert table.rows
        assert all(len(row) == len(table.header) for row in table.rows)


def test_table_as_markdown():
    table = Table("t", ("max |g|", "b"), [("x", "1")], ["note"])
    assert table.markdown() == "| max \\|g\\| | b |\n| :--- | ---: |\n| x | 1 |\n\nnote"
