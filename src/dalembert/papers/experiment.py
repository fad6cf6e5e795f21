"""What an experiment is: a figure or a table of a paper, computed again and judged.

Paper        what is reproduced
Experiment   one figure or table of it: how it is set up, computed and drawn
Result       the numbers, and the paper's claims with our verdict on each
Claim        one statement that can be checked, the verdict, the numbers it rests on
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONFIRMED, CORRECTED, REFUTED = "confirmed", "confirmed with a correction", "refuted"
VERDICTS = (CONFIRMED, CORRECTED, REFUTED)

#: Columns of one length: numbers, or words.
Table = Mapping[str, Sequence[Any] | np.ndarray]


@dataclass(frozen=True)
class Paper:
    """A paper; `number` orders the papers in the report, `key` begins the names of its experiments."""

    number: int
    key: str
    citation: str
    title: str
    about: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper that can be checked, and what the measurement says about it.

    "confirmed with a correction": the statement needs the correction that `note` gives, and with it was found to hold.
    "refuted": it was found not to hold; `as_expected` then tells a known erratum, which `note` explains, from a
    measurement that contradicts what should be true. Only the latter makes `dalembert reproduce` fail.
    """

    statement: str
    verdict: str
    measured: str
    note: str = ""
    as_expected: bool = True

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"verdict must be one of {', '.join(map(repr, VERDICTS))}, got {self.verdict!r}.")


def judged(holds: bool, statement: str, measured: str, *, correction: str = "", note: str = "") -> Claim:
    """The claim, with the verdict that follows from whether the (corrected) statement was found to hold."""
    verdict = (CORRECTED if correction else CONFIRMED) if holds else REFUTED
    return Claim(
        statement, verdict, measured, " ".join(text for text in (correction, note) if text), as_expected=bool(holds)
    )


def erratum(holds: bool, statement: str, measured: str, explanation: str) -> Claim:
    """A statement that is known to be wrong as printed; that it `holds` after all would be the surprise."""
    return Claim(statement, CONFIRMED if holds else REFUTED, measured, explanation, as_expected=not holds)


@dataclass
class Result:
    """What an experiment found: named tables, and the claims."""

    data: dict[str, Table] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name, table in self.data.items():
            lengths = {column: len(values) for column, values in table.items()}
            if len(set(lengths.values())) > 1:
                raise InputError(f"the columns of the table {name!r} must have one length, got {lengths}.")


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper.

    Args:
        name: as typed on the command line: the paper's key, what, its number ("jay-fig-8.1").
        paper: where it stands.
        title: what it shows, in a few words.
        setup: system, data and methods in our own words; paragraphs, `code`, and formulas between dollar signs.
        run: computes it; `run(True)` is the quick version, which must show the same in seconds.
        draw: the figure, with the axes of the paper.
        alone: measures run time, so nothing else may run beside it.
    """

    name: str
    paper: Paper
    title: str
    setup: str
    run: Callable[[bool], Result]
    draw: Callable[[Result], Figure]
    alone: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9.]+)+", self.name) or not self.name.startswith(f"{self.paper.key}-"):
            raise InputError(
                f"an experiment is called like its paper and its figure, such as {self.paper.key}-fig-1; "
                f"got {self.name!r}."
            )
