"""The shape that three figures of the paper share: the energy error of methods with rising numbers of stages."""

from __future__ import annotations

import numpy as np

import dalembert as da

from ..energy import EnergyError, energy_errors, judge_energy
from ..experiment import Claim, judged

#: In the full version boundedness is measured over an interval so many times longer than the paper's.
LONGER = 40


def compute(system, methods: dict, q0, v0, end: float, h: float, quick: bool) -> tuple[dict, dict[str, EnergyError]]:
    """The curves over the paper's interval by the names of the methods, and the judgement of each."""
    curves, found = {}, {}
    for name, method in methods.items():
        run = da.simulate(system, method, q0, v0, t=(0.0, end if quick else LONGER * end), h=h)
        t, errors = np.asarray(run.t), energy_errors(run)
        found[name] = judge_energy(t, errors, scale=float(np.max(np.abs(run.energy))))
        shown = t <= end * (1 + 1e-12)
        curves[name] = (t[shown], errors[shown])
    return curves, found


def table(curves: dict) -> dict:
    """All curves of one interval as columns."""
    first = next(iter(curves.values()))
    return {"t": first[0], **{name: errors for name, (_, errors) in curves.items()}}


def curves_of(data) -> dict:
    """The curves back from the table."""
    t = np.asarray(data["t"])
    return {name: (t, np.asarray(errors)) for name, errors in data.items() if name != "t"}


def bounded_claim(what: str, found: dict[str, EnergyError], end: float, quick: bool, **remarks: str) -> Claim:
    """All energy errors stay bounded."""
    span = end if quick else LONGER * end
    sizes = "; ".join(
        f"{name}: max |E − E(0)| = {one.largest:.2e} "
        f"(second half / first half = {one.second_half / one.first_half:.3f})"
        for name, one in found.items()
    )
    return judged(
        all(one.bounded for one in found.values()),
        f"The energy errors of {what} stay bounded.",
        f"over [0, {span:g}]: {sizes}",
        **remarks,
    )
