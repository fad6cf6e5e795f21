"""What a run gives back: saved states, how they came about, and how the run ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engine import INTERRUPTED, LEFT_CONSTRAINTS, OK, STATUS
from ..method import Method
from ..problem import AbstractSystem, has_own_inputs
from .step import Layout

#: What helps, by the status of the step that failed.
CURES = {
    1: "h is too large for this motion, or it runs into a singular configuration; try a smaller h.",
    2: "the equations leave their domain (a square root, a logarithm, a division by zero); try a smaller h, "
    "or check the model near this state.",
    3: "constraints become dependent there, or the mass matrix singular; try a smaller h or other coordinates.",
    4: "The constraints become independent beside a singular configuration, or contradict each other there: start "
    "beside it, or try a smaller h.",
    5: "h is too large for this motion; try a smaller h.",
}


@dataclass(frozen=True)
class Status:
    """How a run ended; true in a condition if all steps were taken.

    `step`, `time` tell where it stopped, `message` why and what to do.
    """

    code: int
    step: int
    time: float
    message: str

    @property
    def ok(self) -> bool:
        return self.code == OK

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.message


@dataclass
class Run:
    """Raw result of `integrate`: saved states along the first axis, and how they came about."""

    system: AbstractSystem
    method: Method
    layout: Layout
    rows: tuple[int, ...] | None
    t: Any
    states: Any
    iterations: Any
    worst_iterations: Any
    status: Any  # a `Status`, or a traced code
    h: Any  # the step size, or those of all steps
    stats: dict[str, Any] = field(default_factory=dict)
    events: Any = None  # an `Events`, where the method finds them
    more: dict[str, Any] = field(default_factory=dict)  # arrays that this kind of run records besides
    crossings: Any = None  # a `Found`, where events were asked for
    inputs: Any = None  # of a run whose inputs changed from step to step: those of the step before each saved state
    stored: Any = None  # where t, states and iterations are, if they are not here

    @property
    def smooth(self) -> bool:
        """Whether the states lie on a smooth curve: not where impacts, chance or new inputs change them."""
        return self.method.smooth and not (self.layout.contacts or has_own_inputs(self.system))


def ok_after(steps: int, time: float, remark: str = "") -> Status:
    """All steps were taken."""
    return Status(OK, steps, time, f"ok: {steps} steps{remark}")


def ended(code: int, taken: int, time: float, h: float, residual: float, halved: int = 0, finding: str = "") -> Status:
    """How a run ended that took `taken` steps, up to `time`. If it failed, h is the size of the step that did, and
    `finding` what is known of the cause."""
    if code == OK:
        return ok_after(taken, time, f", {halved} of them halved" if halved else "")
    left = code == LEFT_CONSTRAINTS
    what = f": {finding}" if left and finding else ""
    if not left and np.isfinite(residual):
        what = f", last residual {residual:.2e}"
    begin = f"step {taken + 1} (from t = {time:.6g}, h = {h:g}) failed: {STATUS[code]}{what}. {CURES[code]}"
    return Status(code, taken, time, f"{begin} {finding}" if finding and not left else begin)


def interrupted_after(steps: int, time: float) -> Status:
    """The status of a run that Ctrl-C ended; where there is nothing to return, KeyboardInterrupt."""
    if not steps:
        raise KeyboardInterrupt
    return _interrupted(steps, time)


def _interrupted(steps: int, time: float) -> Status:
    return Status(INTERRUPTED, steps, time, f"interrupted by the user after {steps} steps (t = {time:.6g})")


def status_of_code(code: int, steps: int, time: float) -> Status:
    """The status of a run that was traced, or of a member of a batch, of which only the code comes out."""
    if code == OK:
        return ok_after(steps, time)
    if code == INTERRUPTED:
        return _interrupted(steps, time)
    return Status(
        code, steps, time,
        f"a step failed: {STATUS[code]}; the states after it repeat the last good one. Try a smaller h, or run "
        "it outside jit, vmap and grad for the step and its cause.",
    )  # fmt: skip


def read_only(values: Any) -> Any:
    """NumPy arrays, alone or by name, as views that cannot be written to: what a record says does not change."""
    if isinstance(values, dict):
        return {name: read_only(part) for name, part in values.items()}
    if not isinstance(values, np.ndarray) or not values.flags.writeable:
        return values
    view = values.view()
    view.flags.writeable = False
    return view
