"""The tables of README and documentation that follow from the code: `python docs/make_tables.py`.

Writes the table of claims (README.md, docs/methods.md), what is measured of them (docs/methods.md), the systems of
the gallery (docs/gallery.md), and the public names with their reference (docs/api.md), each between its marks. Tests
compare all but the measured numbers with the code.
"""

from __future__ import annotations

import dataclasses
import inspect
import pathlib
import re
import sys

import numpy as np
import plain_formulas
import reference

import dalembert as da
from dalembert.diagnostics import (
    drift,
    end_errors,
    observed_order,
    reference_solution,
    reversibility_defect,
    symplectic_defect,
)
from dalembert.gallery import CONTACT_GALLERY, FAMILY_GALLERY, GALLERY, OVERDETERMINED_GALLERY
from dalembert.method import CATALOGUE

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from benchmarks.pages import fill  # noqa: E402

YES, NO = "yes", "-"
#: The orders are fitted at this time, with these numbers of steps by order.
MEASURED_END = 0.5
MEASURED_STEPS = {
    1: (400.0, 800.0, 1600.0, 3200.0),
    2: (50.0, 100.0, 200.0, 400.0),
    4: (30.0, 45.0, 67.0, 100.0),
    6: (28.0, 38.0, 52.0, 72.0),
    8: (20.0, 24.0, 30.0, 36.0),
}


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def claims_table() -> str:
    """What every method of the catalogue claims, straight from its `claims`; in brackets the order with unequal
    steps, where it is lower."""
    header = ["method", "order of q, p", "of λ", "g = 0", "g_q v + g_t = 0", "symplectic", "reversible",
              "momentum maps", "energy bounded", "source"]  # fmt: skip
    rows = []
    for entry in CATALOGUE.values():
        claims = entry.method.claims
        reversible = YES if claims.symmetric else ("in q" if claims.symmetric_positions else NO)
        rows.append(
            [
                f"`da.{entry.method.name}`",
                str(claims.order) + ("" if claims.unequal_order is None else f" ({claims.unequal_order})"),
                NO if claims.multiplier_order is None else str(claims.multiplier_order),
                YES if "position" in claims.constraints else NO,
                YES if "velocity" in claims.constraints else NO,
                YES if claims.symplectic else NO,
                reversible,
                YES if claims.momentum else NO,
                YES if claims.bounded_energy else NO,
                entry.reference,
            ]
        )
    return _table(header, rows)


def measured_table(system_name: str = "double-pendulum") -> str:
    """The same claims as numbers, on one system of the gallery."""
    system = GALLERY[system_name]()
    start = system.start()
    arguments = (start.q0, start.v0)
    reference = reference_solution(system, *arguments, (0.0, MEASURED_END))
    names = [f"`da.{entry.method.name}`" for entry in CATALOGUE.values()]
    columns = []
    for entry in CATALOGUE.values():
        method = entry.method
        found = end_errors(
            system, method, *arguments, (0.0, MEASURED_END), MEASURED_END / np.array(MEASURED_STEPS[method.order]),
            reference, quantities=("q", "p", "lam"),
        )  # fmt: skip
        back = reversibility_defect(system, method, *arguments, (0.0, 1.0), 0.05)
        run = da.simulate(system, method, *arguments, t=(0.0, 1000.0), h=0.01, save_every=10)
        spin = run.invariants["angular_momentum_z"]
        trend = drift(run.t, run.energy)
        columns.append(
            [
                *(f"{observed_order(found.hs, found.errors[key]).slope:.2f}" for key in ("q", "p", "lam")),
                *(_power(x) for x in (
                    np.max(run.constraint), np.max(run.hidden),
                    symplectic_defect(system, method, *arguments, 0.0, 0.05), back.q, back.p,
                    np.max(np.abs(spin - spin[0])), np.ptp(run.energy), abs(trend.slope) * 1000.0,
                )),
            ]
        )  # fmt: skip
    quantities = [
        f"order of q at t = {MEASURED_END:g}", "order of p", "order of λ", "largest g, 100 000 steps of h = 0.01",
        "largest g_q v + g_t", "symplectic defect of one step of h = 0.05",
        "distance from q(0) after 20 steps forth and back", "distance from p(0)",
        "change of the vertical angular momentum", "range of the energy, t = 0 to 1000",
        "fitted linear change of the energy over the same time",
    ]  # fmt: skip
    rows = [[label, *values] for label, values in zip(quantities, zip(*columns, strict=True), strict=True)]
    return _table([system_name, *names], rows)


def _power(value) -> str:
    return "0" if value == 0 else f"{float(value):.0e}"


def _default(value) -> str:
    return str(value) if isinstance(value, bool | str) else f"{value:g}"


def gallery_sections(systems=GALLERY, options: str = "") -> str:
    """A section for every system: its documentation, its parameters, its picture."""
    parts = []
    for name, kind in systems.items():
        text = with_displays((inspect.getdoc(kind) or "").replace("::\n", ":\n"))
        fields = [f"`{f.name}` = {_default(f.default)}" for f in dataclasses.fields(kind)]
        exact = "yes" if kind().exact(np.zeros(1)) is not None else "no"
        parts.append(
            f"### {kind.__name__}\n\n{text}\n\n"
            f"Parameters: {', '.join(fields) or 'none'}. Exact motion known: {exact}.\n\n"
            f"```sh\ndalembert simulate {name}{options} --plot {name}.png\n```\n\n"
            f"![The path of {name}](pictures/gallery_{name}.png){{ width=480 }}"
        )
    return "\n\n".join(parts)


def with_displays(text: str) -> str:
    """A docstring whose indented lines, which are formulas, are set as such."""
    return re.sub(r"(?m)(?:^ {4}.*\n?)+", lambda found: plain_formulas.display(found[0]) + "\n", text).rstrip("\n")


def thumbnails() -> str:
    """A small picture of every system, which leads to its section."""
    systems = GALLERY | CONTACT_GALLERY | FAMILY_GALLERY | OVERDETERMINED_GALLERY
    links = [
        f'<a href="#{kind.__name__.lower()}"><img src="pictures/gallery_{name}.png" alt="" loading="lazy">{name}</a>'
        for name, kind in systems.items()
    ]
    return "\n".join(['<div class="thumbnails">', *links, "</div>"])


def contact_sections() -> str:
    """The same for the systems with contact."""
    return gallery_sections(CONTACT_GALLERY, " --method moreau-jean")


def family_sections() -> str:
    """The same for the systems that were written for one family of methods."""
    return gallery_sections(FAMILY_GALLERY, " --method energy-momentum")


def overdetermined_sections() -> str:
    """The same for the overdetermined systems."""
    return gallery_sections(OVERDETERMINED_GALLERY, " --method symplectic-euler")


#: Names without a documentation of their own.
_CONSTANTS = {
    "CATALOGUE": ("dalembert.method.catalogue.CATALOGUE", "The methods by name, each with its source."),
    "GaussSpark": ("dalembert.method.gauss_spark", "`da.gauss_spark`, named like a class."),
    "LobattoSpark": ("dalembert.method.lobatto_spark", "`da.lobatto_spark`, named like a class."),
    "SCHEMES": ("dalembert.method.composition_schemes.SCHEMES", "The schemes of `da.Composition` by name."),
}


def names_table() -> str:
    """Every public name of the package, where it is described, and what it is in a sentence."""
    rows = []
    for name in da.__all__:
        value = getattr(da, name)
        place = _place_of(name, value)
        words = _CONSTANTS[name][1] if name in _CONSTANTS else _first_sentence(inspect.getdoc(value) or "")
        rows.append([f"[`da.{name}`][{place}]", words.replace("|", "\\|")])
    return _table(["name", "what it is"], rows)


def reference_sections() -> str:
    """The reference of all public names."""
    return reference.sections(_place_of)


def _place_of(name: str, value) -> str:
    """The anchor of a name on the page: the room that exports it, or the module that is called like it."""
    if name in _CONSTANTS:
        return _CONSTANTS[name][0]
    if inspect.ismodule(value):
        return value.__name__
    if value.__module__.endswith(f".{name}"):  # the module hides the function of its name
        return f"{value.__module__}.{name}"
    return ".".join([*value.__module__.split(".")[:2], name])


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n")[0].split()).removesuffix("::")
    return re.split(r"(?<=\S\.)\s", paragraph)[0].rstrip(".:") + "."


def main() -> None:
    """Write all of them."""
    claims = claims_table()
    fill(ROOT / "README.md", "claims", claims)
    fill(ROOT / "docs" / "methods.md", "claims", claims)
    fill(ROOT / "docs" / "gallery.md", "thumbnails", thumbnails())
    fill(ROOT / "docs" / "gallery.md", "gallery", gallery_sections())
    fill(ROOT / "docs" / "gallery.md", "contact_gallery", contact_sections())
    fill(ROOT / "docs" / "gallery.md", "family_gallery", family_sections())
    fill(ROOT / "docs" / "gallery.md", "overdetermined_gallery", overdetermined_sections())
    fill(ROOT / "docs" / "api.md", "names", names_table())
    fill(ROOT / "docs" / "api.md", "reference", reference_sections())
    fill(ROOT / "docs" / "methods.md", "measured", measured_table())


if __name__ == "__main__":
    main()
