"""Composition schemes: the fractions gamma_i of a step that a symmetric method takes one after the other.

All are symmetric (gamma_i = gamma_{s+1-i}) with sum 1; a test checks the order conditions of each.
Collected in Hairer, Lubich, Wanner, Geometric Numerical Integration, V.3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InputError


@dataclass(frozen=True)
class Scheme:
    """Fractions and resulting order, both as functions of the order of the symmetric method composed."""

    fractions: Callable[[int], tuple[float, ...]]
    order: Callable[[int], int]
    base_order: int | None
    reference: str


def _mirrored(*half: float) -> tuple[float, ...]:
    """gamma_1 .. gamma_{k}, the last being the middle one, written out."""
    return (*half, *half[-2::-1])


def triple_jump(order: int) -> tuple[float, ...]:
    """gamma_1 = gamma_3 = 1 / (2 - 2^(1/(p+1))): raises a symmetric method of even order p to p + 2."""
    outer = 1 / (2 - 2 ** (1 / (order + 1)))
    return (outer, 1 - 2 * outer, outer)


def quintuple_jump(order: int) -> tuple[float, ...]:
    """gamma = 1 / (4 - 4^(1/(p+1))) four times around 1 - 4 gamma: as the triple jump, with smaller steps."""
    outer = 1 / (4 - 4 ** (1 / (order + 1)))
    return (outer, outer, 1 - 4 * outer, outer, outer)


def _nested(jump: Callable[[int], tuple[float, ...]], order: int) -> tuple[float, ...]:
    fractions = (1.0,)
    for lower in range(2, order, 2):
        fractions = tuple(outer * inner for outer in jump(lower) for inner in fractions)
    return fractions


def _fixed(order: int, fractions: tuple[float, ...], reference: str) -> Scheme:
    return Scheme(lambda _: fractions, lambda _: order, 2, reference)


SCHEMES: dict[str, Scheme] = {
    "adjoint": Scheme(lambda _: (1.0,), lambda p: p, None, "a method followed by its adjoint"),
    "triple-jump": Scheme(triple_jump, lambda p: p + 2, None, "Creutz, Gocksch 1989; Yoshida 1990"),
    "quintuple-jump": Scheme(quintuple_jump, lambda p: p + 2, None, "Suzuki 1990"),
    "yoshida4": _fixed(4, _nested(triple_jump, 4), "Yoshida 1990"),
    "suzuki4": _fixed(4, _nested(quintuple_jump, 4), "Suzuki 1990"),
    "suzuki6": _fixed(6, _nested(quintuple_jump, 6), "Suzuki 1990"),
    "yoshida6": _fixed(
        6,
        _mirrored(
            0.78451361047755726381949763,
            0.23557321335935813368479318,
            -1.17767998417887100694641568,
            1.31518632068391121888424973,
        ),
        "Yoshida 1990, solution A",
    ),
    "kahan-li6": _fixed(
        6,
        _mirrored(
            0.39216144400731413927925056,
            0.33259913678935943859974864,
            -0.70624617255763935980996482,
            0.08221359629355080023149045,
            0.79854399093482996339895035,
        ),
        "Kahan, Li 1997, nine stages",
    ),
    "sofroniou-spaletta6": _fixed(
        6,
        _mirrored(
            0.21375583945878254555518067,
            0.18329381407425713911385974,
            0.17692819473098943794898812,
            -0.44329082681170215849622830,
            0.11728560432865935385403586,
            0.50405474843802736404832782,
        ),
        "Sofroniou, Spaletta 2005, eleven stages",
    ),
    "suzuki-umeno8": _fixed(
        8,
        _mirrored(
            0.74167036435061295344822780,
            -0.40910082580003159399730010,
            0.19075471029623837995387626,
            -0.57386247111608226665638773,
            0.29906418130365592384446354,
            0.33462491824529818378495798,
            0.31529309239676659663205666,
            -0.79688793935291635401978884,
        ),
        "Suzuki, Umeno 1993, fifteen stages",
    ),
    "kahan-li8": _fixed(
        8,
        _mirrored(
            0.13020248308889008087881763,
            0.56116298177510838456196441,
            -0.38947496264484728640807860,
            0.15884190655515560089621075,
            -0.39590389413323757733623154,
            0.18453964097831570709183254,
            0.25837438768632204729397911,
            0.29501172360931029887096624,
            -0.60550853383003451169892108,
        ),
        "Kahan, Li 1997, seventeen stages",
    ),
    "sofroniou-spaletta10": _fixed(
        10,
        _mirrored(
            0.07879572252168641926390768,
            0.31309610341510852776481247,
            0.02791838323507806610952027,
            -0.22959284159390709415121340,
            0.13096206107716486317465686,
            -0.26973340565451071434460973,
            0.07497334315589143566613711,
            0.11199342399981020488957508,
            0.36613344954622675119314812,
            -0.39910563013603589787862981,
            0.10308739852747107731580277,
            0.41143087395589023782070412,
            -0.00486636058313526176219566,
            -0.39203335370863990644808194,
            0.05194250296244964703718290,
            0.05066509075992449633587434,
            0.04967437063972987905456880,
            0.04931773575959453791768001,
        ),
        "Sofroniou, Spaletta 2004, thirty-five stages",
    ),
}


def scheme_named(name: str) -> Scheme:
    """The scheme called `name`."""
    if not isinstance(name, str) or name not in SCHEMES:
        raise InputError(f"unknown composition scheme {name!r}; expected one of: {', '.join(SCHEMES)}.")
    return SCHEMES[name]
