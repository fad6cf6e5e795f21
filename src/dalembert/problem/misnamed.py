"""Functions of a system under a name that nobody asks for: they would have no effect, and the system would be another.

`constraint(self, t, q)` is not asked for, `holonomic(self, t, q)` is: without this check a pendulum would fall freely.
"""

from __future__ import annotations

import inspect
from typing import Any

from ..errors import ModelError

#: By the name that is asked for: what it is called elsewhere, and its arguments.
OTHER_NAMES = {
    "holonomic": (("constraint", "constraints", "holonomics", "holonomic_constraint", "holonomic_constraints",
                   "position_constraint", "position_constraints", "g", "phi"), ("t", "q")),
    "nonholonomic": (("constraint", "constraints", "non_holonomic", "nonholonomics", "nonholonomic_constraint",
                      "nonholonomic_constraints", "velocity_constraint", "velocity_constraints", "k"), ("t", "q", "v")),
    "force": (("forces", "external_force", "external_forces", "generalized_force", "generalized_forces",
               "nonconservative_force", "nonconservative_forces", "damping"), ("t", "q", "v")),
    "gap": (("gaps", "distance", "distances", "contact", "contacts", "unilateral"), ("t", "q")),
    "tangent": (("tangents", "tangential", "friction_direction", "friction_directions"), ("t", "q")),
    "invariants": (("invariant", "conserved", "integrals"), ("t", "q", "p")),
    "lagrangian": (("L", "Lagrangian", "lagrange", "lagrangean"), ("t", "q", "v")),
    "hamiltonian": (("H", "Hamiltonian"), ("t", "q", "p")),
}  # fmt: skip


def check_names(kind: type, provided: set[str], asked: set[str]) -> None:
    """Refuse a class with a function that looks like one of those `asked` for, which it does not provide."""
    for part in sorted(asked - provided):
        others, arguments = OTHER_NAMES.get(part, ((), ()))
        for name in others:
            if _arguments(vars(kind).get(name)) == arguments:
                signature = f"({', '.join(('self', *arguments))})"
                raise ModelError(
                    f"{kind.__name__}.{name}{signature} is a function that nobody asks for, so it would have no "
                    f"effect: did you mean {part}{signature}? Rename it; one that only helps others can be called "
                    f"_{name}."
                )


def _arguments(function: Any) -> tuple[str, ...] | None:
    """The names of the arguments of a method, without the first."""
    return tuple(inspect.signature(function).parameters)[1:] if inspect.isfunction(function) else None
