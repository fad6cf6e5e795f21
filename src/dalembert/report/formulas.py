"""Plain text with formulas to HTML that needs neither network nor script.

Paragraphs are separated by blank lines, `code` stands between backticks, a formula between dollar signs. Formulas know
letters (set in italics), indices and powers, Greek letters and a few signs; that is what the texts here use.
"""

from __future__ import annotations

import html
import re

_SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ", "lambda": "λ", "mu": "μ",
    "nu": "ν", "pi": "π", "rho": "ρ", "tau": "τ", "phi": "φ", "psi": "ψ", "omega": "ω", "eta": "η", "sigma": "σ",
    "Gamma": "Γ", "Delta": "Δ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
    "ell": "ℓ", "le": "≤", "ge": "≥", "ne": "≠", "cdot": "·", "times": "×", "in": "∈", "infty": "∞",
    "nabla": "∇", "partial": "∂", "sum": "∑", "int": "∫", "pm": "±", "approx": "≈", "to": "→", "dot": "˙",
    "quad": " ", ",": " ",
}  # fmt: skip
_UPRIGHT = ("sin", "cos", "tan", "exp", "log", "min", "max", "sqrt")
#: What may stand after a backslash.
COMMANDS = frozenset({*_SIGNS, *_UPRIGHT})
_TOKEN = re.compile(r"\\[A-Za-z]+|\\,|[A-Za-z]+|\d+(?:\.\d+)?|\s+|.", re.DOTALL)


def text_to_html(text: str) -> str:
    """Paragraphs of a text as HTML."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "".join(f"<p>{inline_to_html(' '.join(paragraph.split()))}</p>" for paragraph in paragraphs)


def inline_to_html(text: str) -> str:
    """One line: code, formulas and words."""
    parts = re.split(r"(\$[^$]*\$|`[^`]*`)", text)
    return "".join(_part(part) for part in parts)


def _part(part: str) -> str:
    if len(part) > 1 and part[0] == part[-1] == "$":
        return f'<span class="formula">{formula_to_html(part[1:-1])}</span>'
    if len(part) > 1 and part[0] == part[-1] == "`":
        return f"<code>{html.escape(part[1:-1])}</code>"
    return html.escape(part)


def formula_to_html(formula: str) -> str:
    """A formula in the small part of LaTeX described above."""
    text = _group(_TOKEN.findall(formula), 0, None)[0]
    return re.sub(rf"({'|'.join(_UPRIGHT)}) (?=<su[bp]>)", r"\1", text)  # the power of a function stands close to it


def _group(tokens: list[str], start: int, end: str | None) -> tuple[str, int]:
    """The HTML of the tokens up to `end` or to the last, and where it stops."""
    out, k = [], start
    while k < len(tokens) and tokens[k] != end:
        if tokens[k] in "_^":
            tag = "sub" if tokens[k] == "_" else "sup"
            inside, k = _argument(tokens, k + 1)
            out.append(f"<{tag}>{inside}</{tag}>")
        elif tokens[k] == "{":
            inside, k = _group(tokens, k + 1, "}")
            out.append(inside)
        else:
            out.append(_symbol(tokens[k]))
            k += 1
    return "".join(out), k + (end is not None)


def _argument(tokens: list[str], k: int) -> tuple[str, int]:
    """What an index or a power applies to: a group, or one sign."""
    if k < len(tokens) and tokens[k] == "{":
        return _group(tokens, k + 1, "}")
    if k >= len(tokens):
        return "", k
    if tokens[k].isalnum() and len(tokens[k]) > 1 and not tokens[k].isdigit():  # only the first letter, as in LaTeX
        first, tokens[k] = tokens[k][0], tokens[k][1:]
        return _symbol(first), k
    return _symbol(tokens[k]), k + 1


def _symbol(token: str) -> str:
    if token.startswith("\\"):
        name = token[1:]
        return f"{name} " if name in _UPRIGHT else _SIGNS.get(name, html.escape(name))
    if token.isspace():
        return " "
    if token == "-":
        return "−"
    if token.isalpha() and token.isascii():
        return f"<i>{token}</i>"
    return html.escape(token)
