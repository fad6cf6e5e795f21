"""The table of ways and options in docs/engine.md is what is refused."""

import subprocess
import sys

import pytest


@pytest.mark.long
def test_the_page_says_what_each_way_refuses(root):
    code = "import sys; sys.path.insert(0, 'docs'); import options; print(options.table())"
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=root, capture_output=True, text=True, check=True
    )  # fmt: skip
    made = [line for line in found.stdout.splitlines() if line.startswith("|")]
    page = (root / "docs" / "engine.md").read_text(encoding="utf-8")
    section = page[page.index("<!-- begin options -->") : page.index("<!-- end options -->")]
    assert len(made) > 8
    assert made == [line for line in section.splitlines() if line.startswith("|")]
