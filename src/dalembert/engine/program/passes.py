"""Passes: named functions that change a draft, one after the other, and a log of what each of them did.

A draft is what passes work on: a program, and which of its operations still matter. A list of passes is the plan of
how a step becomes code, to be read in one place (`step/step_program.py`, `step/array_step.py`). The log holds for every
pass its name, the sizes before and after it, and its seconds; `run.stats["passes"]` shows it.

Two variables of the environment show more. `DALEMBERT_VERIFY=1` asks after every pass whether the draft is still sound
(`Draft.verify`). `DALEMBERT_DUMP=folder` writes the program after every pass into that folder.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .listing import write_listing

VERIFY, DUMP = "DALEMBERT_VERIFY", "DALEMBERT_DUMP"


class Draft:
    """What passes work on."""

    kind = ""  # the kind of code that it becomes
    program: Any  # in single operations or in arrays

    def __init__(self) -> None:
        self.log: list[dict] = []

    def sizes(self) -> dict[str, int]:
        """How large it is, by what is counted."""
        return {}

    def results(self) -> dict[str, Any]:
        """The operations that matter, by what they are."""
        return {}

    def verify(self, name: str) -> None:
        """Raise an error if what the pass of that name left is not sound."""


@dataclass(frozen=True)
class Pass:
    """A function that changes a draft."""

    name: str
    run: Callable[[Any], None]


@contextlib.contextmanager
def logged(log: list[dict], kind: str, name: str, before: dict[str, int]) -> Iterator[dict[str, int]]:
    """Log what is done inside; the sizes after it are to be put into what is given."""
    after: dict[str, int] = {}
    record: dict[str, Any] = {"pass": name, "code": kind, "before": before, "after": after}
    begun = time.perf_counter()
    try:
        yield after
    except Exception as failure:
        record["gave_up"] = str(failure) or type(failure).__name__
        raise
    finally:
        record["seconds"] = round(time.perf_counter() - begun, 6)
        log.append(record)


def told(log: list[dict]) -> list[dict]:
    """The log for whoever asks, who may change it: it belongs to code that later runs use too."""
    return [{**record, "before": {**record["before"]}, "after": {**record["after"]}} for record in log]


def run_passes(passes: Sequence[Pass], draft: Draft) -> None:
    """Run passes in order. One that raises an error is logged too."""
    sizes = draft.sizes()
    verify, folder = os.environ.get(VERIFY, "0") not in ("", "0"), os.environ.get(DUMP)
    for one in passes:
        with logged(draft.log, draft.kind, one.name, sizes) as after:
            one.run(draft)
        sizes = draft.sizes()
        after.update(sizes)
        if folder:
            write_listing(folder, draft.kind, len(draft.log), one.name, draft.program, draft.results())
        if verify:
            draft.verify(one.name)
