"""`dalembert list`: the methods and what each one keeps, the systems of the gallery."""

from __future__ import annotations

import textwrap
from typing import Annotated, NamedTuple

import typer

from ..errors import InputError
from ..gallery import CONTACT_GALLERY, FAMILY_GALLERY, GALLERY, OVERDETERMINED_GALLERY
from ..method import CATALOGUE, CONTACT_CATALOGUE, FAMILY_CATALOGUE, METHODS, keeps, treats
from ..report import first_sentence
from . import show

METHODS_BY_KIND = {
    "Smooth motion": CATALOGUE,
    "Families of methods, some of their members": FAMILY_CATALOGUE,
    "Contact, impact, friction": CONTACT_CATALOGUE,
}
SYSTEMS_BY_KIND = {
    "Smooth motion": GALLERY | FAMILY_GALLERY,
    "Contact (with --method moreau-jean)": CONTACT_GALLERY,
    "Overdetermined (with --method symplectic-euler)": OVERDETERMINED_GALLERY,
}
LEGEND = (
    "g: constraints hold; g': so do their derivatives; S: symplectic; R: reversible; M: momentum maps; E: energy is "
    "kept, e: it is bounded. n: nonholonomic constraints, r: reactions, c: contacts. `dalembert list NAME` says more."
)


class Line(NamedTuple):
    """A method or a system."""

    name: str
    kind: str
    text: str  # what is looked through, in lower case


def list_command(
    words: Annotated[
        list[str] | None, typer.Argument(help="Only what these words are found in; or one name, to see more of it.")
    ] = None,
    method: Annotated[bool, typer.Option("--method", "-m", help="The methods, one in a line.")] = False,
    system: Annotated[bool, typer.Option("--system", "-s", help="The systems, one in a line.")] = False,
    as_json: show.Json = False,
) -> None:
    """List the methods and the systems of the gallery.

    For example: dalembert list --method nonholonomic; dalembert list --system pendulum; dalembert list gauss-spark-2.
    """
    wanted = [word.lower() for word in words or []]
    both = method == system
    methods = _found(method_lines(), wanted) if method or both else []
    systems = _found(system_lines(), wanted) if system or both else []
    if wanted and not methods and not systems:
        raise InputError(f"nothing in the list holds {' and '.join(map(repr, wanted))}; `dalembert list` shows all.")
    if as_json:
        show.print_json({
            "methods": {line.name: method_facts(line.name) for line in methods},
            "systems": {line.name: {"kind": line.kind, "what": _about(line.name)} for line in systems},
        })  # fmt: skip
    elif len(methods) + len(systems) == 1:
        _print_one((methods + systems)[0], bool(methods))
    elif wanted or method or system:
        _print_lines(methods, systems)
    else:
        _print_names(methods, systems)


def method_lines() -> list[Line]:
    """Every method with what may be looked for."""
    return [
        Line(name, kind, " ".join(map(str, (name, *method_facts(name).values()))).lower())
        for kind, catalogue in METHODS_BY_KIND.items()
        for name in catalogue
    ]


def system_lines() -> list[Line]:
    """Every system with what may be looked for."""
    return [
        Line(name, kind, f"{name} {_about(name)}".lower())
        for kind, gallery in SYSTEMS_BY_KIND.items()
        for name in gallery
    ]


def method_facts(name: str) -> dict[str, str | int]:
    """What `list` knows of a method."""
    entry = METHODS[name]
    return {
        "python": f"da.{entry.method.name}",
        "order": entry.method.order,
        "treats": treats(entry.method),
        "keeps": keeps(entry.method.claims),
        "about": entry.summary,
        "source": entry.reference,
    }


def _about(name: str) -> str:
    (kind,) = [gallery[name] for gallery in SYSTEMS_BY_KIND.values() if name in gallery]
    return first_sentence(kind)


def _found(lines: list[Line], words: list[str]) -> list[Line]:
    """Those that hold all words; only the one that is named, if one is."""
    named = [line for line in lines if words == [line.name]]
    return named or [line for line in lines if all(word in line.text for word in words)]


def _print_one(line: Line, is_method: bool) -> None:
    rows = method_facts(line.name) if is_method else {"what": _about(line.name), "kind": line.kind}
    if not is_method:
        rows["to see it"] = f"dalembert simulate {line.name} --plot {line.name}.png; dalembert studio {line.name}"
    show.console().print(show.facts(line.name, [(name, str(value)) for name, value in rows.items()]))


def _print_lines(methods: list[Line], systems: list[Line]) -> None:
    console = show.console()
    if methods:
        rows = [(line.name, METHODS[line.name].method.order, *_marks(line.name)) for line in methods]
        header = ("method", "order", "keeps", "also treats")
        console.print(show.grid("Methods (--method NAME)", header, rows, right=(1,), whole=(0, 2, 3)))
        console.print(LEGEND)
    if systems:
        rows = [(line.name, _about(line.name)) for line in systems]
        console.print(show.grid("Systems (dalembert simulate NAME)", ("system", "what"), rows))


def _marks(name: str) -> tuple[str, str]:
    """What a method keeps and treats, in letters."""
    entry = METHODS[name]
    claims, handled = entry.method.claims, entry.method.handles
    kept = [
        ("g", "position" in claims.constraints), ("g'", "velocity" in claims.constraints), ("S", claims.symplectic),
        ("R", claims.symmetric), ("M", claims.momentum), ("E", claims.energy),
        ("e", claims.bounded_energy and not claims.energy),
    ]  # fmt: skip
    more = (("n", "nonholonomic"), ("r", "reaction"), ("c", "gap"))
    return (
        " ".join(letter for letter, holds in kept if holds),
        " ".join(letter for letter, part in more if part in handled),
    )


def _print_names(methods: list[Line], systems: list[Line]) -> None:
    """All names, on one screen."""
    console = show.console()
    for title, lines in (("Methods", methods), ("Systems", systems)):
        for kind in dict.fromkeys(line.kind for line in lines):
            console.print(f"{title}: {kind[0].lower()}{kind[1:]}", style="bold")
            names = "  ".join(line.name for line in lines if line.kind == kind)
            width = max(40, min(console.width, 100)) - 2
            console.print(textwrap.indent(textwrap.fill(names, width, break_on_hyphens=False), "  "))
    console.print(
        "dalembert list --method, or --system: one in a line. A word more is looked for; a name says more of it."
    )
