"""A run as a Python script that computes the same numbers, bit for bit."""

from __future__ import annotations

import numpy as np

from ..errors import InputError
from .computing import Call
from .exhibit import parameters_of

#: Longer lists of numbers are wrapped.
NUMBERS_A_LINE = 4


def script_of(call: Call) -> str:
    """The script: the same class, parameters, start, method and steps as in the studio.

    Numbers are written with `repr`, which reads back to the same double.
    """
    exhibit = call.exhibit
    if not exhibit.code:
        raise InputError(
            f"{exhibit.title} was given as an object, of which the studio does not know how it was made; repeat the "
            "call in your own program with the numbers that the page shows."
        )
    assert exhibit.system is not None
    before = {parameter.name: parameter for parameter in parameters_of(exhibit.system)}
    changed = {name: x for name, x in call.parameters.items() if x != before[name].value}
    plain = {name: int(x) if before[name].whole else x for name, x in changed.items() if name.isidentifier()}
    deep = {name: x for name, x in changed.items() if not name.isidentifier()}
    lines = ['"""Written by the studio of dalembert: repeats a run, number by number."""', ""]
    lines += ["import dataclasses", ""] if plain else []
    lines += ["import equinox as eqx"] if deep else []
    lines += ["import numpy as np", "", "import dalembert as da", "from dalembert.method import method_named", ""]
    lines += exhibit.code
    if plain:
        values = ", ".join(f"{name}={value!r}" for name, value in plain.items())
        lines.append(f"system = dataclasses.replace(system, {values})")
    lines += [_deep_line(name, value) for name, value in deep.items()]
    launch = call.launch
    lines += [
        f"q0 = np.array({_numbers(launch.q0)})",
        f"v0 = np.array({_numbers(launch.v0)})",
        "run = da.simulate(",
        f"    system, method_named({call.method_name!r}), q0, v0, t=({launch.t0!r}, {call.t[1]!r}), h={launch.h!r},",
        f'    save_every={call.save_every}, project={call.project}, on_failure="return",',
        ")",
        "print(run)",
        'run.save("run.nc")',
    ]
    return "\n".join(lines) + "\n"


def _deep_line(name: str, value: float) -> str:
    """A parameter inside a part of the system, or a component of an array."""
    head, bracket, index = name.rpartition("[")
    if bracket and index.rstrip("]").isdigit() and name.endswith("]") and head.isidentifier():
        changed = f"np.where(np.arange(len(s.{head})) == {index.rstrip(']')}, {value!r}, s.{head})"
        return f"system = (lambda s: eqx.tree_at(lambda x: x.{head}, s, {changed}))(system)"
    return f"system = eqx.tree_at(lambda s: s.{name}, system, np.float64({value!r}))"


def _numbers(values) -> str:
    """A list of numbers as Python reads it back."""
    words = [repr(x) for x in np.asarray(values, dtype=float).tolist()]
    if len(words) <= NUMBERS_A_LINE:
        return f"[{', '.join(words)}]"
    rows = [", ".join(words[k : k + NUMBERS_A_LINE]) for k in range(0, len(words), NUMBERS_A_LINE)]
    return "[\n    " + ",\n    ".join(rows) + ",\n]"
