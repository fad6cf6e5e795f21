"""What a run that goes on in another process needs besides its carry.

The native engine may have chosen its pivots anew on the way, what it tries first depends on what it had to mend, and
the scales of its unknowns on roundoff that it measured: all of that is part of the result to the last bit, so it is
kept, as plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .native import NativeRun
from .phases import PhasedRun


def condition_of(runner: Any) -> list[dict[str, Any]]:
    """One entry a compiled step: {"pivots": where they were chosen, or None for the start, "mended": the counts,
    "least_scale": of every unknown, or None}."""
    return [
        {"pivots": stage.pivots, "mended": dict(stage.mended), "least_scale": stage.least_scale}
        for stage in _stages(runner)
    ]


def restore_condition(runner: Any, condition: list[dict[str, Any]], parameters: np.ndarray) -> None:
    """Bring a runner that was built at the start of the run into the condition in which the other one was."""
    stages = _stages(runner)
    if len(stages) != len(condition):
        raise ValueError(f"{len(condition)} compiled steps were kept, this run has {len(stages)}")
    for stage, entry in zip(stages, condition, strict=True):
        stage.restore(entry["pivots"], entry["mended"], parameters, entry.get("least_scale"))


def way_back(runner: Any) -> Callable[[], None]:
    """What brings a runner back into the condition in which it is now, in the same process."""
    stages = _stages(runner)
    kept = [vars(stage) | {"_counts": dict(stage.mended)} for stage in stages]

    def back() -> None:
        for stage, condition in zip(stages, kept, strict=True):
            vars(stage).update(condition)

    return back


def _stages(runner: Any) -> list[NativeRun]:
    if isinstance(runner, PhasedRun):
        return runner.stages
    return [runner] if isinstance(runner, NativeRun) else []
