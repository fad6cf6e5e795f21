"""What tables 1 and 2 share: all entries measured, judged entry by entry, drawn as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...plots.style import GREY, PALETTE, new_figure, style
from ..experiment import Claim, Result, Table, judged
from .orders import Measured, Motion, agrees, double_pendulum, measure, pendulum, ripple_pendulum
from .printed import ORDERS_OF_THE_RULE, QUANTITIES, Entry, entries

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LETTERS = {"q": "q", "p": "p", "lam": "λ"}
RULE_NAMES = {"gauss": "Gauss", "lobatto": "Lobatto"}
#: The largest degree whose projected runs are measured in the quick and in the full version.
PROJECTED_DEGREES = {True: 3, False: 5}
#: Entries measured on the double pendulum: (s, w), each with the smallest rule that the table has and the next one.
DOUBLE_QUICK = ((1, 1), (2, 2), (3, 2))
DOUBLE_FULL = (*DOUBLE_QUICK, (3, 3), (4, 2), (4, 3), (4, 4))

Found = dict[Entry, Measured]


def compute(rule: str, quick: bool) -> Result:
    """Measure the table on the planar pendulum, a part of it on the double pendulum, projected runs too."""
    all_entries = entries(rule)
    chosen = [entry for entry in all_entries if not quick or _representative(entry)]
    found = {_key(entry): (entry, measure(pendulum(), entry, check_positions=not quick)) for entry in chosen}
    claims = [_agreement(name, list(found.values()), len(all_entries)) for name in QUANTITIES]
    data: dict[str, Table] = {"orders": _order_rows(pendulum(), found.values()), "errors": _error_rows(found.values())}
    claims += [_positions_formula(rule, list(found.values())), _parity_formula(list(found.values()))]
    claims.append(_projection(rule, quick))
    motions = {"double pendulum": (double_pendulum, _double_entries(all_entries, quick))}
    if not quick:
        motions["rippled field"] = (ripple_pendulum, [entry for entry in all_entries if entry.s <= 4])
    for label, (motion, some) in motions.items():
        more = [(entry, measure(motion(), entry)) for entry in some]
        data[f"orders, {label}"] = _order_rows(motion(), more)
        claims.append(_other_motion(motion(), more))
    return Result(data, claims)


def _key(entry: Entry) -> tuple[int, int, int]:
    return entry.s, entry.w, entry.rule_order


def _first_orders(entry: Entry, count: int) -> bool:
    return entry.rule_order in list(ORDERS_OF_THE_RULE[entry.rule][entry.s])[:count]


def _representative(entry: Entry) -> bool:
    """The quick version: s = w and s = w + 1 with the two smallest rules, the others with the smallest."""
    return _first_orders(entry, 2 if entry.shaded else 1)


def _double_entries(all_entries: list[Entry], quick: bool) -> list[Entry]:
    pairs = DOUBLE_QUICK if quick else DOUBLE_FULL
    return [entry for entry in all_entries if (entry.s, entry.w) in pairs and _first_orders(entry, 2)]


# -- judging -----------------------------------------------------------------------------------------------------


def _name(entry: Entry) -> str:
    return f"s = {entry.s}, w = {entry.w}, r = {entry.nodes}"


def _judge(pairs: Iterable[tuple[Entry, Measured]], names: Iterable[str]) -> tuple[int, list[str], list[str], str]:
    """How many entries agree, those that do not, those not measurable, and the largest deviation in words."""
    good, bad, unknown, worst = 0, [], [], (0.0, "")
    for entry, measured in pairs:
        for name in names:
            slope, printed = measured.slopes[name], entry.orders[name]
            verdict = agrees(slope, printed)
            if verdict is None or slope is None:
                unknown.append(f"{LETTERS[name]} at {_name(entry)}")
                continue
            good += verdict
            if not verdict:
                bad.append(f"{LETTERS[name]} at {_name(entry)}: printed {printed or 'd'}, measured {slope:.2f}")
            elif printed is not None:
                worst = max(
                    worst, (abs(slope - printed), f"{slope:.2f} for {printed} ({LETTERS[name]}, {_name(entry)})")
                )
    return good, bad, unknown, worst[1]


def _agreement(name: str, pairs: list[tuple[Entry, Measured]], total: int) -> Claim:
    good, bad, unknown, worst = _judge(pairs, [name])
    lost = sorted({count for _, measured in pairs for count in measured.lost})
    words = [f"{good} of {len(pairs)} measured entries agree (the table has {total})", f"farthest: {worst}"]
    words += [f"do not agree: {', '.join(bad)}"] if bad else []
    words += [f"not measurable: {', '.join(unknown)}"] if unknown else []
    note = (
        f"Runs with {', '.join(map(str, lost))} steps sometimes found another solution of the discrete equations; "
        "they are left out."
        if lost
        else ""
    )
    return judged(
        not bad, f"The printed orders of {LETTERS[name]} hold on the planar pendulum.", "; ".join(words), note=note
    )


def _positions_formula(rule: str, pairs: list[tuple[Entry, Measured]]) -> Claim:
    wrong = []
    shaded = [(entry, measured) for entry, measured in pairs if entry.shaded]
    for entry, measured in shaded:
        slope, expected = measured.slopes["q"], min(2 * entry.s, entry.rule_order, 2 * entry.w)
        if slope is not None and not agrees(slope, expected):
            wrong.append(f"{_name(entry)}: {slope:.2f} for {expected}")
    bound = "2r" if rule == "gauss" else "2r − 2"
    return judged(
        not wrong,
        f"For s = w and s = w + 1 the order of q is min(2s, {bound}, 2w).",
        f"{len(shaded) - len(wrong)} of {len(shaded)} combinations" + (f"; not {', '.join(wrong)}" if wrong else ""),
    )


def _parity_formula(pairs: list[tuple[Entry, Measured]]) -> Claim:
    wrong, count = [], 0
    for entry, measured in pairs:
        if not entry.shaded or entry.rule_order < 2 * entry.s:
            continue
        even = entry.w % 2 == 0
        expected = {"p": entry.w + (2 if even else 1), "lam": entry.w + (0 if even else 1)}
        for name, order in expected.items():
            count += 1
            slope = measured.slopes[name]
            if slope is not None and not agrees(slope, order):
                wrong.append(f"{LETTERS[name]} at {_name(entry)}: {slope:.2f} for {order}")
    return judged(
        not wrong,
        "For s = w and s = w + 1 with a rule of order at least 2s, even w gives p the order w + 2 and λ the order w; "
        "odd w gives both the order w + 1.",
        f"{count - len(wrong)} of {count} orders" + (f"; not {', '.join(wrong)}" if wrong else ""),
        note="The multiplier at t = 0 is left out: for odd w it has the order w only.",
    )


def _projection(rule: str, quick: bool) -> Claim:
    words, holds = [], True
    for s in range(1, PROJECTED_DEGREES[quick] + 1):
        entry = Entry(s, s, rule, 2 * s, dict.fromkeys(QUANTITIES, 2 * s))
        measured = measure(pendulum(), entry, project=True)
        _, bad, _, _ = _judge([(entry, measured)], QUANTITIES)
        holds = holds and not bad
        words.append(
            f"s = {s}: " + ", ".join(f"{slope:.2f}" for slope in measured.slopes.values() if slope is not None)
        )
    return judged(
        holds,
        "Projecting the momentum onto the hidden constraints and computing λ from (70) gives p and λ the order of q.",
        "orders of q, p, λ with w = s: " + "; ".join(words),
    )


def _other_motion(motion: Motion, pairs: list[tuple[Entry, Measured]]) -> Claim:
    good, bad, unknown, worst = _judge(pairs, QUANTITIES)
    words = [f"{good} of {3 * len(pairs)} entries agree", f"farthest: {worst}"]
    words += [f"do not agree: {', '.join(bad)}"] if bad else []
    words += [f"not measurable: {', '.join(unknown)}"] if unknown else []
    return judged(not bad, f"The printed orders hold on another system: {motion.name}.", "; ".join(words))


# -- tables and drawing ------------------------------------------------------------------------------------------


def _order_rows(motion: Motion, pairs: Iterable[tuple[Entry, Measured]]) -> dict[str, list]:
    columns: dict[str, list] = {
        key: []
        for key in ("motion", "s", "w", "rule", "rule order", "r", "quantity", "printed", "measured", "runs", "agrees")
    }
    for entry, measured in pairs:
        for name in QUANTITIES:
            slope, printed = measured.slopes[name], entry.orders[name]
            verdict = agrees(slope, printed)
            row = (
                motion.name, entry.s, entry.w, entry.rule, entry.rule_order, entry.nodes, name,
                "d" if printed is None else str(printed), slope, measured.points[name],
                "not measurable" if verdict is None else "yes" if verdict else "no",
            )  # fmt: skip
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


def _error_rows(pairs: Iterable[tuple[Entry, Measured]]) -> dict[str, list]:
    columns: dict[str, list] = {key: [] for key in ("s", "w", "rule order", "steps", *QUANTITIES)}
    for entry, measured in pairs:
        for k, steps in enumerate(measured.steps):
            row = (entry.s, entry.w, entry.rule_order, steps, *(measured.errors[name][k] for name in QUANTITIES))
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


def draw_table(result: Result, rule: str) -> Figure:
    """Rows: degree s and order of the rule; columns: w and the quantity. Colour: printed order; number: measured."""
    import matplotlib as mpl
    from matplotlib.patches import Rectangle

    orders = result.data["orders"]
    rows = [(s, order) for s in range(1, 7) for order in ORDERS_OF_THE_RULE[rule][s]]
    place = {row: k for k, row in enumerate(rows)}
    colours = mpl.colormaps["YlGnBu"]
    with style():
        figure = new_figure(10.5, 1.3 + 0.36 * len(rows), ".")
        axes = figure.add_subplot()
        axes.grid(visible=False)
        axes.set_navigate(False)  # a table: nothing to zoom into
        for s, w, order, name, printed, measured, agree in zip(
            *(orders[key] for key in ("s", "w", "rule order", "quantity", "printed", "measured", "agrees")), strict=True
        ):
            x, y = 3 * (w - 1) + QUANTITIES.index(name), place[s, order]
            shade = 0.0 if printed == "d" else int(printed) / 12
            face = "#F6E3CE" if printed == "d" else colours(0.75 * shade)
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white", linewidth=1.0))
            text = "?" if measured is None else "d" if measured < 0.5 else f"{measured:.1f}"
            axes.text(
                x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=11.5,
                color=PALETTE[1] if agree == "no" else "white" if shade > 0.9 else "black",
                fontweight="bold" if agree == "no" else "normal",
            )  # fmt: skip
        done = set(zip(orders["s"], orders["w"], orders["rule order"], strict=True))
        for entry in entries(rule):
            if _key(entry) in done:
                continue
            for k, printed in enumerate(entry.orders.values()):
                x, y = 3 * (entry.w - 1) + k, place[entry.s, entry.rule_order]
                face = "#F6E3CE" if printed is None else colours(0.75 * printed / 12)
                axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, alpha=0.3, edgecolor="white"))
        for k in range(1, 7):
            axes.axvline(3 * k, color=GREY, linewidth=0.8)
            axes.text(3 * k - 1.5, -1.35, f"$w = {k}$", ha="center", va="center")
        for k, (row, after) in enumerate(zip(rows, [*rows[1:], None], strict=True)):
            if after is None or after[0] != row[0]:
                axes.axhline(k + 1, color=GREY, linewidth=0.8)
        axes.set_xlim(0, 18)
        axes.set_ylim(len(rows), -1.9)
        axes.set_xticks([])
        axes.set_yticks([k + 0.5 for k in range(len(rows))], [f"$s = {s}$, order {order}" for s, order in rows])
        axes.tick_params(length=0)
        for k in range(18):
            axes.text(k + 0.5, -0.5, ("$q$", "$p$", r"$\lambda$")[k % 3], ha="center", va="center")
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.text(-0.15, -0.5, f"degree, {RULE_NAMES[rule]} rule", ha="right", va="center")
    return figure
