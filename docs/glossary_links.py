"""A hook of mkdocs: on every page the first use of a word of the glossary becomes a link to it.

The words are those that the glossary gives an anchor. Headings, code, formulas, tables and links stay as they are.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

#: The anchors of the glossary, and how the words are written on the pages.
TERMS = {
    "holonomic": r"holonomic",
    "nonholonomic": r"nonholonomic",
    "hidden-constraint": r"hidden constraints?",
    "multiplier": r"multipliers?",
    "index": r"index 3",
    "zeno": r"Zeno",
    "momentum-map": r"momentum maps?",
    "symplectic": r"symplectic",
    "reversible": r"reversible",
    "order": r"of order",
    "stage": r"stages?",
    "variational-integrator": r"variational integrators?",
    "spark": r"SPARK",
    "composition": r"compositions?",
    "lagrangian": r"Lagrangians?",
    "hamiltonian": r"Hamiltonians?",
    "dae": r"DAEs?",
    "invariant": r"invariants?",
    "projection": r"projections?",
    "residual": r"residuals?",
    "restitution": r"restitution",
    "roundoff": r"roundoff",
    "drift": r"drifts?",
    "ensemble": r"ensembles?",
    "time-stepping": r"[Tt]ime stepping",
}
#: Pages that are lists, or the glossary itself.
UNTOUCHED = (
    "glossary.md",
    "api.md",
    "papers.md",
    "errata.md",
    "audit.md",
    "gallery.md",
    "benchmarks.md",
    "notation.md",
)
_OPAQUE = {"a", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "script", "style", "table", "svg", "button"}
_WITHOUT_END = {"br", "img", "hr", "input", "wbr"}
_PATTERN = re.compile("|".join(rf"(?P<g{k}>\b{words}\b)" for k, words in enumerate(TERMS.values())))


class _Linker(HTMLParser):
    """Writes a page again as it comes, with links in its running text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self.opaque: list[str] = []  # open elements in which nothing is linked
        self.unused = set(range(len(TERMS)))

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.parts.append(self.get_starttag_text() or "")
        formula = "arithmatex" in (dict(attrs).get("class") or "")
        if (tag in _OPAQUE or self.opaque or formula) and tag not in _WITHOUT_END:
            self.opaque.append(tag)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.parts.append(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")
        if self.opaque and self.opaque[-1] == tag:
            self.opaque.pop()

    def handle_data(self, data: str) -> None:
        self.parts.append(data if self.opaque else _PATTERN.sub(self._linked, data))

    def handle_entityref(self, name: str) -> None:
        self.parts.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.parts.append(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        self.parts.append(f"<!--{data}-->")

    def _linked(self, found: re.Match) -> str:
        number = int(str(found.lastgroup)[1:])
        if number not in self.unused:
            return found[0]
        self.unused.discard(number)
        return f'<a class="term" href="glossary.html#{list(TERMS)[number]}">{found[0]}</a>'


def linked(html: str) -> str:
    """The page with its links."""
    linker = _Linker()
    linker.feed(html)
    linker.close()
    return "".join(linker.parts)


def on_page_content(html: str, page, **_) -> str:
    """Called by mkdocs with the content of each page."""
    return html if page.file.src_uri in UNTOUCHED else linked(html)
