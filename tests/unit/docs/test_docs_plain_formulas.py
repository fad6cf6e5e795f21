"""Formulas of docstrings in LaTeX."""

import plain_formulas
import pytest


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ("L = m/2 |v|^2 - m g y", r"L = \tfrac{m}{2} |v|^2 - m g y"),
        ("x = a/2w theta'", r"x = a/2w \theta '"),  # the denominator is 2 w
        ("g = l^2/3", "g = l^2/3"),
        ("r_(i-1) + q_{i+1} + z1", "r_{i-1} + q_{i+1} + z_1"),
        ("u = sqrt(x + y),   v+ = -rho v-", r"u = \sqrt{x + y}, \quad v^+ = -\rho  v^-"),
        ("k = the part of q", r"k = \text{the part of}\ q"),
    ],
)
def test_a_formula(plain, expected):
    assert plain_formulas.latex(plain) == expected


def test_lines_are_aligned():
    assert (
        plain_formulas.display("    a = b\n    c = d\n")
        == "$$\n\\begin{aligned} & a = b \\\\ & c = d \\end{aligned}\n$$"
    )
