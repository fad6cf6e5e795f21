"""Every figure and table of the papers behind the methods as one `Experiment` each.

A folder is a paper: its `__init__.py` holds one object `PAPER`. A module in it that holds an object `EXPERIMENT` is an
experiment; nothing else is needed to add one. `dalembert reproduce` runs them. A module that holds `MOTIONS`, functions
by name that each return a `Motion`, adds what can be watched.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType

from ..errors import InputError
from .experiment import (
    CONFIRMED,
    CORRECTED,
    REFUTED,
    VERDICTS,
    Claim,
    Experiment,
    Paper,
    Result,
    Table,
    erratum,
    judged,
)
from .motion import Motion


def _modules() -> Iterator[tuple[ModuleType, ModuleType]]:
    """Every module of every paper, with the package of the paper."""
    for folder in pkgutil.iter_modules(__path__):
        if folder.ispkg:
            package = importlib.import_module(f"{__name__}.{folder.name}")
            for module in pkgutil.iter_modules(package.__path__):
                yield package, importlib.import_module(f"{package.__name__}.{module.name}")


def _found() -> dict[str, Experiment]:
    experiments = [module.EXPERIMENT for _, module in _modules() if "EXPERIMENT" in vars(module)]
    experiments.sort(key=lambda experiment: (experiment.paper.number, experiment.name))
    named = {experiment.name: experiment for experiment in experiments}
    if len(named) < len(experiments):
        raise InputError(f"two experiments have the same name among: {', '.join(e.name for e in experiments)}.")
    return named


EXPERIMENTS: dict[str, Experiment] = _found()

#: By the key of a paper: the motions that its section shows.
MOTIONS: dict[str, dict[str, Callable[[], Motion]]] = {
    package.PAPER.key: module.MOTIONS for package, module in _modules() if "MOTIONS" in vars(module)
}


def experiment_named(name: str) -> Experiment:
    """The experiment called `name`."""
    try:
        return EXPERIMENTS[name.lower()]
    except KeyError:
        raise InputError(f"unknown experiment {name!r}; expected one of: {', '.join(EXPERIMENTS)}.") from None


__all__ = [
    "CONFIRMED",
    "CORRECTED",
    "EXPERIMENTS",
    "MOTIONS",
    "REFUTED",
    "VERDICTS",
    "Claim",
    "Experiment",
    "Motion",
    "Paper",
    "Result",
    "Table",
    "erratum",
    "experiment_named",
    "judged",
]
