"""What a method treats and keeps, in words: for tables and notebooks."""

from __future__ import annotations

from .base import Claims, Method


def treats(method: Method) -> str:
    """The parts of a system that a method treats."""
    return ", ".join(sorted(method.handles - {"invariants"}))


def keeps(claims: Claims) -> str:
    """The claims of a method in words."""
    words = []
    if claims.constraints:
        words.append("constraints at " + " and ".join(claims.constraints) + " level")
    for claim, word in (
        (claims.symplectic, "symplectic"),
        (claims.symmetric, "symmetric"),
        (claims.symmetric_positions, "symmetric in q"),
        (claims.momentum, "momentum maps"),
        (claims.energy, "energy"),
        (claims.bounded_energy, "energy bounded"),
    ):
        if claim:
            words.append(word)
    return ", ".join(words)
