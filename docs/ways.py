"""The files that a run enters, in their order, for docs/architecture.md: `python docs/ways.py pendulum`.

Run in a process of its own, so that nothing has been traced, compiled or kept before. Without a name it writes
both tables into the page, each from a process of its own.
"""

from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable

import dalembert as da

PACKAGE = pathlib.Path(da.__file__).parent
#: Files of the gallery, of what is checked everywhere and of how rooms are loaded say nothing about the way.
LEFT_OUT = ("__init__.py", "arguments.py", "gallery/")


def pendulum() -> None:
    system = da.gallery.Pendulum()
    start = system.start()
    da.simulate(system, da.Rattle(), start.q0, start.v0, t=(0.0, 1.0), h=0.01)


def contact() -> None:
    system = da.gallery.BouncingBall()
    start = system.start()
    da.simulate(system, da.EventCapturing(da.lobatto_iiia(3)), start.q0, start.v0, t=(0.0, 1.0), h=0.01)


WAYS: dict[str, Callable[[], None]] = {"pendulum": pendulum, "contact": contact}


def files_entered(call: Callable[[], None]) -> list[str]:
    """The files of the package in which a function is called, in the order of their first call."""
    found: dict[str, None] = {}

    def profile(frame, event, _) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(PACKAGE)) and frame.f_code.co_name != "<module>":
            found.setdefault(pathlib.Path(name).relative_to(PACKAGE).as_posix())

    for name in da.__all__:  # what is loaded at first use is loaded by now: to load a file is not to enter it
        getattr(da, name)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [name for name in found if not name.startswith(LEFT_OUT)]


def table(names: list[str]) -> str:
    """One row for each file, with the first sentence of what it says of itself."""
    rows = ["| | file | what it is |", "| --- | --- | --- |"]
    for number, name in enumerate(names, start=1):
        text = ast.get_docstring(ast.parse((PACKAGE / name).read_text(encoding="utf-8"))) or ""
        sentence = " ".join(text.split("\n\n")[0].split())
        sentence = sentence.removesuffix("::") + "." * sentence.endswith("::")
        rows.append(f"| {number} | `{name}` | {sentence} |")
    return "\n".join(rows)


def write() -> None:
    """Fill in the page."""
    root = pathlib.Path(__file__).resolve().parent.parent
    sys.path.insert(0, str(root))
    from benchmarks.pages import fill

    for way in WAYS:
        with tempfile.TemporaryDirectory() as cache:
            found = subprocess.run(
                [sys.executable, "-W", "ignore", __file__, way], env=os.environ | {"DALEMBERT_CACHE_DIR": cache},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
        fill(root / "docs" / "architecture.md", way, found.stdout.strip())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(table(files_entered(WAYS[sys.argv[1]])))
    else:
        write()
