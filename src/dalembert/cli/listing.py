"""`dalembert list`: the methods and what each one keeps, the systems of the gallery."""

from __future__ import annotations

from ..gallery import GALLERY
from ..method import CATALOGUE, Claims, Method
from ..report import first_sentence
from . import show


def list_command() -> None:
    """Show the methods with what they treat and keep, and the systems of the gallery."""
    console = show.console()
    methods = [
        (name, entry.method.order, treats(entry.method), keeps(entry.method.claims), entry.reference)
        for name, entry in CATALOGUE.items()
    ]
    header = ("name", "order", "treats", "keeps", "source")
    console.print(show.grid("Methods (--method NAME)", header, methods, right=(1,)))
    console.print()
    systems = [(name, first_sentence(kind)) for name, kind in GALLERY.items()]
    console.print(show.grid("Systems (dalembert simulate NAME)", ("name", "what"), systems))


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
        (claims.bounded_energy, "energy bounded"),
    ):
        if claim:
            words.append(word)
    return ", ".join(words)
