"""Formulas become HTML without network and script."""

import re

import pytest

from dalembert.papers import EXPERIMENTS
from dalembert.report.formulas import COMMANDS, formula_to_html, inline_to_html, text_to_html


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("q_1^2", "<i>q</i><sub>1</sub><sup>2</sup>"),
        ("v_3 - q_2 v_1 = 0", "<i>v</i><sub>3</sub> − <i>q</i><sub>2</sub> <i>v</i><sub>1</sub> = 0"),
        (r"\lambda_{k+1}", "λ<sub><i>k</i>+1</sub>"),
        (r"\sin(2x + y)", "sin (2<i>x</i> + <i>y</i>)"),
        (r"\sin^2(t)", "sin<sup>2</sup>(<i>t</i>)"),
        ("q_ab", "<i>q</i><sub><i>a</i></sub><i>b</i>"),
        ("x^{n_{2}}", "<i>x</i><sup><i>n</i><sub>2</sub></sup>"),
        ("a < b", "<i>a</i> &lt; <i>b</i>"),
        ("h = 0.05", "<i>h</i> = 0.05"),
        (r"w \le s", "<i>w</i> ≤ <i>s</i>"),
        ("x^", "<i>x</i><sup></sup>"),
    ],
)
def test_formula(formula, expected):
    assert formula_to_html(formula) == expected


def test_every_command_of_the_papers_is_known():
    texts = [text for e in EXPERIMENTS.values() for text in (e.title, e.setup, e.paper.title, e.paper.about)]
    assert {name for text in texts for name in re.findall(r"\\([A-Za-z]+)", text)} <= COMMANDS


def test_words_code_and_formulas():
    assert inline_to_html("a < b, `x < 1` and $s = 2$") == (
        'a &lt; b, <code>x &lt; 1</code> and <span class="formula"><i>s</i> = 2</span>'
    )


def test_paragraphs():
    assert text_to_html("\none\ntwo\n\nthree\n") == "<p>one two</p><p>three</p>"
