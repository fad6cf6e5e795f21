r"""Formulas as docstrings have them, `L = m/2 |v|^2 - m g y`, in LaTeX: `L = \tfrac{m}{2} |v|^2 - m g y`."""

from __future__ import annotations

import re

_GREEK = {"lam": "lambda"} | {
    name: name for name in ("alpha", "beta", "delta", "phi", "psi", "rho", "sigma", "theta", "tau", "omega", "mu")
}  # fmt: skip
_FUNCTIONS = {"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp"}
_SIGNS = {
    ">=": r"\ge", "<=": r"\le", "+-": r"\pm", "...": r"\dots", "sum": r"\sum", "sqrt": r"\sqrt",
    "Im": r"\operatorname{Im}", "gd": r"\operatorname{gd}", "wt": r"w t", "dt": "dt", "*": r"^{*}", ".": r"\cdot",
}  # fmt: skip
_TOKEN = re.compile(
    r"(?P<space>\s{2,})|(?P<blank>\s)|(?P<code>`[^`]*`)|(?P<sign>>=|<=|\+-|\.\.\.|[*.])|(?P<number>\d+(\.\d+)?)"
    r"|(?P<word>[A-Za-z]+\d*)|(?P<index>_(\w+|\([^)]*\)|\{[^}]*\}))|(?P<other>.)"
)
#: One atom divided by another; not where the denominator goes on, as in a/2w.
_FRACTION = re.compile(
    r"(?<![\w}^])(?P<over>d|\d+|[A-Za-z]\w*|\\[a-z]+(?:_\w+)?)/(?P<under>dt|\d+|[A-Za-z](?:_\w+)?)(?![\w_^(])"
)


def display(text: str) -> str:
    """Lines of plain formulas as one display formula."""
    lines = [line.strip() for line in text.strip("\n").splitlines()]
    rows = r" \\ ".join(f"& {latex(line)}" for line in lines)
    return f"$$\n\\begin{{aligned}} {rows} \\end{{aligned}}\n$$" if len(lines) > 1 else f"$$\n{latex(lines[0])}\n$$"


def latex(line: str) -> str:
    """One plain formula."""
    line = re.sub(r"\s{2,}=", " =", line)
    line = re.sub(r"\bv([+-])(?=\s=|,|$)", r"v^\1", line)  # before and after an impact
    line = _FRACTION.sub(lambda m: f"\\tfrac{{{m['over']}}}{{{m['under']}}}", line)
    return _joined("".join(_token(found) for found in _tokens(line)))


def _tokens(line: str):
    """The tokens of a line; LaTeX that is there already stays in one piece."""
    for part in re.split(r"(\\tfrac\{[^}]*\}\{[^}]*\})", line):
        if part.startswith("\\tfrac"):
            inside = re.findall(r"\{([^}]*)\}", part)
            yield "\\tfrac" + "".join(f"{{{latex(piece)}}}" for piece in inside)
        else:
            yield from _TOKEN.finditer(part)


def _token(found) -> str:
    if isinstance(found, str):
        return found
    kind, text = found.lastgroup, found[0]
    if kind == "space":
        return r" \quad "
    if kind == "code":
        return rf"\texttt{{{text[1:-1]}}}".replace("_", r"\_")
    if kind == "index":
        return "_{" + _letters(text[1:].strip("(){}")) + "}"
    if kind == "word":
        return _word(text)
    return f" {_SIGNS[text]} " if text in _SIGNS else text


def _word(text: str) -> str:
    """A letter, a letter with a number, a sign, a function, or a word of English."""
    name, number = re.fullmatch(r"([A-Za-z]+)(\d*)", text).groups()  # pyright: ignore
    if name in _GREEK:
        name = f"\\{_GREEK[name]}"
    elif name in _FUNCTIONS:
        name = f"\\{name}"
    elif name in _SIGNS:
        name = _SIGNS[name]
    elif len(name) > 1:
        return rf"\text{{{text}}}"
    return name + (f"_{number}" if number else "") + (" " if name.startswith("\\") and not number else "")


def _letters(text: str) -> str:
    return rf"\{_GREEK[text]}" if text in _GREEK else text


def _joined(text: str) -> str:
    """Words in a row are one text; the root is over what stands in brackets."""
    text = re.sub(r"(\\text\{[^}]*)\}([ ,:]+)(?=\\text\{)", lambda m: m[1] + m[2] + "}", text)
    text = text.replace("}\\text{", "")
    text = re.sub(r"(\\text\{[^}]*\}) (?=[\\A-Za-z])(?!\\ge|\\quad)", r"\1\\ ", text)
    text = re.sub(r"(?<=\w) (?=\\text\{)", r"\\ ", text)
    return re.sub(r"\\sqrt\s*\(([^()]*)\)", r"\\sqrt{\1}", text).strip()
