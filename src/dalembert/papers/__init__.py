"""Every figure and table of the papers behind the methods as one `Experiment` each.

A folder is a paper: its `__init__.py` holds one object `PAPER`. A module in it that holds an object `EXPERIMENT` is an
experiment; nothing else is needed to add one. `dalembert reproduce` runs them.
"""

from __future__ import annotations

import importlib
import pkgutil

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


def _found() -> dict[str, Experiment]:
    experiments: list[Experiment] = []
    for folder in pkgutil.iter_modules(__path__):
        if not folder.ispkg:
            continue
        package = importlib.import_module(f"{__name__}.{folder.name}")
        modules = (
            importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)
        )
        experiments += [module.EXPERIMENT for module in modules if "EXPERIMENT" in vars(module)]
    experiments.sort(key=lambda experiment: (experiment.paper.number, experiment.name))
    named = {experiment.name: experiment for experiment in experiments}
    if len(named) < len(experiments):
        raise InputError(f"two experiments have the same name among: {', '.join(e.name for e in experiments)}.")
    return named


EXPERIMENTS: dict[str, Experiment] = _found()


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
    "REFUTED",
    "VERDICTS",
    "Claim",
    "Experiment",
    "Paper",
    "Result",
    "Table",
    "erratum",
    "experiment_named",
    "judged",
]
