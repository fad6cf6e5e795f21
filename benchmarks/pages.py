"""Writing measured text into pages, between `<!-- begin NAME -->` and `<!-- end NAME -->`."""

from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def block_of(text: str, name: str) -> str:
    """What stands between the marks of a block."""
    found = re.search(_pattern(name), text, re.DOTALL)
    if found is None:
        raise LookupError(f"no block {name!r}: expected <!-- begin {name} --> ... <!-- end {name} -->")
    return found.group(2).strip()


def filled(text: str, name: str, content: str) -> str:
    """The text with the block replaced."""
    block_of(text, name)
    return re.sub(_pattern(name), lambda m: f"{m[1]}\n\n{content.strip()}\n\n{m[3]}", text, flags=re.DOTALL)


def fill(path: pathlib.Path, name: str, content: str) -> None:
    """Replace a block of a file."""
    text = path.read_text(encoding="utf-8")
    path.write_text(filled(text, name, content), encoding="utf-8")


def _pattern(name: str) -> str:
    mark = re.escape(name)
    return rf"(<!-- begin {mark} -->)(.*?)(<!-- end {mark} -->)"
