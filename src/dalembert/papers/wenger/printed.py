"""The orders of the paper's tables 1 and 2, as printed; "d" stands for divergent."""

from __future__ import annotations

from dataclasses import dataclass

QUANTITIES = ("q", "p", "lam")

#: For every rule of the Lagrangian: the orders of the quadrature, for s = 1..6.
ORDERS_OF_THE_RULE = {
    "gauss": {s: range(2 * s, 13, 2) for s in range(1, 7)},
    "lobatto": {s: range(max(2, 2 * s - 2), 13, 2) for s in range(1, 7)},
}

#: For every w: the rows q, p, lam; the columns are those with s >= w in the order of the table, "|" after each s.
_GAUSS = {
    1: ("2 2 2 2 2 2 | 2 2 2 2 2 | 2 2 2 2 | 2 2 2 | 2 2 | 2",) * 3,
    2: (
        "4 4 4 4 4 | 4 4 4 4 | 2 2 2 | 2 2 | 2",
        "4 4 4 4 4 | 4 4 4 4 | 2 2 2 | 2 2 | 2",
        "2 2 2 2 2 | 2 2 2 2 | d d d | d d | d",
    ),
    3: ("6 6 6 6 | 6 6 6 | 4 4 | 2", "4 4 4 4 | 4 4 4 | 2 2 | 2", "4 4 4 4 | 4 4 4 | 2 2 | d"),
    4: ("8 8 8 | 8 8 | 6", "6 6 6 | 6 6 | 4", "4 4 4 | 4 4 | 2"),
    5: ("10 10 | 10", "6 6 | 6", "6 6 | 6"),
    6: ("12", "8", "6"),
}
_LOBATTO = {
    1: ("2 2 2 2 2 2 | 2 2 2 2 2 2 | 2 2 2 2 2 | 2 2 2 2 | 2 2 2 | 2 2",) * 3,
    2: (
        "2 4 4 4 4 4 | 4 4 4 4 4 | 2 2 2 2 | 2 2 2 | 2 2",
        "2 4 4 4 4 4 | 4 4 4 4 4 | 2 2 2 2 | 2 2 2 | 2 2",
        "d 2 2 2 2 2 | 2 2 2 2 2 | d d d d | d d d | d d",
    ),
    3: (
        "4 6 6 6 6 | 6 6 6 6 | 4 4 4 | 2 2",
        "2 4 4 4 4 | 4 4 4 4 | 2 2 2 | 2 2",
        "2 4 4 4 4 | 4 4 4 4 | 2 2 2 | d d",
    ),
    4: ("6 8 8 8 | 8 8 8 | 6 6", "4 6 6 6 | 6 6 6 | 4 4", "2 4 4 4 | 4 4 4 | 2 2"),
    5: ("8 10 10 | 10 10", "4 6 6 | 6 6", "4 6 6 | 6 6"),
    6: ("10 12", "6 8", "4 6"),
}


@dataclass(frozen=True)
class Entry:
    """One combination of the tables with its three printed orders; None where the table says divergent."""

    s: int
    w: int
    rule: str
    rule_order: int
    orders: dict[str, int | None]

    @property
    def nodes(self) -> int:
        """r: a Gauss rule of order 2r, a Lobatto rule of order 2r - 2."""
        return self.rule_order // 2 + (self.rule == "lobatto")

    @property
    def shaded(self) -> bool:
        """Grey in the tables: s = w or s = w + 1."""
        return self.s in (self.w, self.w + 1)


def entries(rule: str) -> list[Entry]:
    """All combinations of a table, row by row."""
    found = []
    for w, rows in {"gauss": _GAUSS, "lobatto": _LOBATTO}[rule].items():
        columns = [(s, order) for s in range(w, 7) for order in ORDERS_OF_THE_RULE[rule][s]]
        values = [[None if x == "d" else int(x) for x in row.replace("|", " ").split()] for row in rows]
        for (s, order), *orders in zip(columns, *values, strict=True):
            found.append(Entry(s, w, rule, order, dict(zip(QUANTITIES, orders, strict=True))))
    return found
