"""`dalembert list`: the methods and what each one keeps, the systems of the gallery."""

from __future__ import annotations

from ..gallery import CONTACT_GALLERY, FAMILY_GALLERY, GALLERY, OVERDETERMINED_GALLERY
from ..method import CATALOGUE, CONTACT_CATALOGUE, FAMILY_CATALOGUE, keeps, treats
from ..report import first_sentence
from . import show


def list_command() -> None:
    """Show the methods with what they treat and keep, and the systems of the gallery."""
    console = show.console()
    header = ("name", "order", "treats", "keeps", "source")
    for title, catalogue in (
        ("Methods (--method NAME)", CATALOGUE),
        ("Families of methods, some of their members", FAMILY_CATALOGUE),
        ("Methods for systems with contact", CONTACT_CATALOGUE),
    ):
        methods = [
            (name, entry.method.order, treats(entry.method), keeps(entry.method.claims), entry.reference)
            for name, entry in catalogue.items()
        ]
        console.print(show.grid(title, header, methods, right=(1,)))
        console.print()
    systems = [(name, first_sentence(kind)) for name, kind in (GALLERY | FAMILY_GALLERY).items()]
    console.print(show.grid("Systems (dalembert simulate NAME)", ("name", "what"), systems))
    console.print()
    impacts = [(name, first_sentence(kind)) for name, kind in CONTACT_GALLERY.items()]
    title = "Systems with contact (dalembert simulate NAME --method moreau-jean)"
    console.print(show.grid(title, ("name", "what"), impacts))
    console.print()
    reactions = [(name, first_sentence(kind)) for name, kind in OVERDETERMINED_GALLERY.items()]
    title = "Overdetermined systems (dalembert simulate NAME --method symplectic-euler)"
    console.print(show.grid(title, ("name", "what"), reactions))
