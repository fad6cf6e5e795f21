"""Runs the Python blocks of a page in order; a `text` block right after one holds what it prints or raises.

`python docs/page_code.py` runs all pages that have code and writes what the blocks print into them.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import textwrap
import types
from dataclasses import dataclass

DOCS = pathlib.Path(__file__).resolve().parent
PAGES = (
    "index", "start", "coming_from", "rolling", "impacts", "step_size", "ensembles", "engine_friendly",
    "choose_a_method", "gallery", "starting_values", "failures", "add_a_system", "add_a_method", "galerkin",
    "spark", "composition", "energy_momentum", "taylor", "contact", "checkpoints", "sweeps", "determinism",
    "multibody", "control", "derivatives", "events", "studio",
)  # fmt: skip
_BLOCKS = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<output>.*?)```)?", re.DOTALL)


@dataclass(frozen=True)
class Output:
    """What the page says a block prints, and what it printed; `where` is the span of the former in the page."""

    expected: str
    found: str
    where: tuple[int, int]


def run_page(text: str, name: str) -> list[Output]:
    """Run the blocks in one namespace, in the current folder. An error is only allowed where the page shows it."""
    module = types.ModuleType(f"page_{name}")
    sys.modules[module.__name__] = module  # dataclasses look up the module of a class
    outputs = []
    for k, block in enumerate(_BLOCKS.finditer(text)):
        shown = block["output"]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(block["code"], f"<{name}, block {k + 1}>", "exec", dont_inherit=True), vars(module))
            except Exception as error:
                if shown is None:
                    raise
                print(f"{type(error).__name__}: {error}")
        if shown is not None:
            outputs.append(Output(shown.strip(), printed.getvalue().strip(), block.span("output")))
    return outputs


def comparable(text: str) -> str:
    """The words of an output: numbers that are not whole may differ in their last digits."""
    return re.sub(r"\d+\.\d*(e[+-]?\d+)?|\d+e[+-]?\d+", "#", " ".join(text.split()))


def wrapped(text: str) -> str:
    """Lines that fit into a page."""
    return "\n".join(textwrap.fill(line, 100, break_on_hyphens=False) for line in text.splitlines())


def main() -> None:
    """Write what the blocks print into the pages."""
    for name in PAGES:
        path = DOCS / f"{name}.md"
        text = path.read_text(encoding="utf-8")
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            try:
                os.chdir(folder)
                outputs = run_page(text, name)
            finally:
                os.chdir(here)
        for output in reversed(outputs):
            begin, end = output.where
            text = text[:begin] + wrapped(output.found) + "\n" + text[end:]
        path.write_text(text, encoding="utf-8")
        print(f"{name}: {len(outputs)} outputs", file=sys.stderr)


if __name__ == "__main__":
    main()
