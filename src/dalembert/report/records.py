"""Results of experiments on disk, one folder each: `result.json`, a CSV file for every table, the figure.

`result.json` is written last: where it is and fits, the experiment is finished and need not run again. It fits if it
was made in the same mode by the same source code of this package.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import json
import math
import pathlib
import re
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version

import numpy as np

from ..papers import Claim, Experiment, Result
from ..plots import write_atomically
from .panels import name_panels, panels_of

FIGURES = ("figure.svg", "figure.png")
PANELS, RESULT, ERROR = "panels.json", "result.json", "error.txt"
#: What an experiment writes, and removes before it runs again.
WRITTEN = (".json", ".csv", ".svg", ".png", ".txt")
PACKAGE = pathlib.Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Record:
    """What is kept of an experiment: claims, numbers, or the error that ended it."""

    name: str
    claims: list[Claim] = field(default_factory=list)
    tables: dict[str, dict[str, list]] = field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""

    @property
    def failures(self) -> list[str]:
        """Why it did not go as it should, one line each."""
        if self.error:
            return [f"{self.name}: {self.error}"]
        return [
            f"{self.name}: {claim.verdict}: {claim.statement} ({claim.measured})"
            for claim in self.claims
            if not claim.as_expected
        ]


@functools.cache
def code_identity() -> str:
    """The version and a digest of the source files: results of other code are not reused."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return f"{version('dalembert')}+{digest.hexdigest()[:16]}"


def folder_of(output: pathlib.Path, name: str) -> pathlib.Path:
    """Where the files of an experiment are."""
    return output / "experiments" / name


def store(experiment: Experiment, quick: bool, output: pathlib.Path) -> Record:
    """Run an experiment, draw its figure, write all of its files."""
    folder = folder_of(output, experiment.name)
    folder.mkdir(parents=True, exist_ok=True)
    for stale in folder.iterdir():
        if stale.suffix in WRITTEN:
            stale.unlink()
    begun = time.perf_counter()
    result = experiment.run(quick)
    seconds = time.perf_counter() - begun
    _draw(experiment, result, folder)
    tables = {name: {key: _plain(column) for key, column in table.items()} for name, table in result.data.items()}
    for name, table in tables.items():
        _write_csv(folder / f"{file_stem(name)}.csv", table)
    record = Record(experiment.name, list(result.claims), tables, seconds)
    content = {"code": code_identity(), "quick": quick, **asdict(record)}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    write_atomically(folder / RESULT, lambda part: part.write_text(text, encoding="utf-8"))
    return record


def stored(name: str, quick: bool, output: pathlib.Path) -> Record | None:
    """The finished result of this code in this mode, if there is one."""
    folder = folder_of(output, name)
    try:
        content = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        if content["code"] != code_identity() or content["quick"] != quick or content["name"] != name:
            return None
        if not all((folder / figure).is_file() for figure in (*FIGURES, PANELS)):
            return None
        claims = [Claim(**claim) for claim in content["claims"]]
        return Record(name, claims, content["tables"], content["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def file_stem(table: str) -> str:
    """The name of a table as that of a file."""
    return re.sub(r"[^a-z0-9.]+", "_", table.lower()).strip("_.") or "table"


def _draw(experiment: Experiment, result: Result, folder: pathlib.Path) -> None:
    import matplotlib as mpl

    figure = experiment.draw(result)
    name_panels(figure)
    # letters as outlines: the page shall look the same where the fonts are missing; the same result, the same file;
    # all points of a curve: a reader may zoom in
    vector, pixels = (folder / name for name in FIGURES)
    write_atomically(pixels, lambda part: figure.savefig(part, format="png", dpi=160))
    with mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": experiment.name, "path.simplify": False}):
        write_atomically(vector, lambda part: figure.savefig(part, format="svg", metadata={"Date": None}))
    text = json.dumps(panels_of(figure), allow_nan=False)  # after drawing: only then the places are known
    write_atomically(folder / PANELS, lambda part: part.write_text(text, encoding="utf-8"))


def _plain(column) -> list:
    """Numbers and words that JSON knows; not-a-number becomes null."""
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [_plain_value(value) for value in values]


def _plain_value(value):
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_csv(path: pathlib.Path, table: dict[str, list]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
