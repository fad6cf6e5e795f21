"""The ways on the architecture page are those that runs take."""

import re
import subprocess
import sys

import pytest

#: Files that a first call enters; fewer are wanted, not more. That of a contact compiles its steps as the pendulum
#: does, and adds what events need.
MOST_FILES = {"pendulum": 59, "contact": 80}


@pytest.mark.parametrize("way", ["pendulum", "contact"])
def test_the_page_names_the_files_that_a_run_enters(root, tmp_path, monkeypatch, way):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path / "cache"))
    found = subprocess.run(
        [sys.executable, "-W", "ignore", str(root / "docs" / "ways.py"), way], capture_output=True, text=True,
        check=True, timeout=120,
    )  # fmt: skip
    page = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page[page.index(f"<!-- begin {way} -->") : page.index(f"<!-- end {way} -->")]
    listed, entered = (re.findall(r"\| `([\w/]+\.py)` \|", text) for text in (section, found.stdout))
    assert len(entered) > 20
    assert listed == entered
    assert len(entered) <= MOST_FILES[way]
