"""Two methods measured on what is shown: how large the error at the end is, and how long it takes, by step size."""

from __future__ import annotations

import numpy as np

from ..diagnostics import work_precision
from ..errors import InputError
from ..method import Method
from .computing import Call, Computed
from .pictures import packed

#: Step sizes as multiples of the one that is shown.
MULTIPLES = (4, 2, 1, 0.5)
#: Steps with the smallest size; a longer interval is measured up to there.
MOST_STEPS_MEASURED = 20_000


def work_message(computed: Computed, methods: dict[str, Method]) -> bytes:
    """Errors at the end and seconds, for every method and step size, on the interval that is shown or its beginning."""
    call = computed.call
    if call is None:
        raise InputError("a run from a file is shown as it was: nothing can be measured.")
    t, hs = _interval(call)
    run = computed.run
    found = work_precision(call.system, methods, np.asarray(run.q[0]), np.asarray(run.v[0]), t, hs, repeats=3)
    arrays, curves = {}, []
    for k, name in enumerate(found.methods):
        good = np.isfinite(found.errors[k]) & (found.errors[k] > 0)
        arrays |= {f"seconds {k}": found.seconds[k][good], f"errors {k}": found.errors[k][good]}
        curves.append({"name": name, "h": found.hs[good].tolist()})
    header = {"kind": "work", "identity": computed.request.identity, "curves": curves, "end": t[1]}
    return packed(header, arrays)


def _interval(call: Call) -> tuple[tuple[float, float], list[float]]:
    """The interval, a whole number of the largest steps long, and the step sizes."""
    h, (begin, end) = call.launch.h, call.t
    longest = min(end - begin, MOST_STEPS_MEASURED * MULTIPLES[-1] * h)
    largest = max(1, int(longest / (MULTIPLES[0] * h) + 1e-9))
    span = largest * MULTIPLES[0] * h
    return (begin, begin + span), [span / (largest * MULTIPLES[0] / multiple) for multiple in MULTIPLES]
