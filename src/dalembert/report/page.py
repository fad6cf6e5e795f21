"""The page: one self-contained HTML file, light or dark, readable on a telephone."""

from __future__ import annotations

import base64
import html
import io
import pathlib
from dataclasses import dataclass

from .measure import Measurement

WIDEST = 1400  # pixels of a figure in the page
_TYPES = {".png": "image/png", ".gif": "image/gif"}

CSS = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c2126; --soft: #5f6b73; --line: #dfe4e8;
  --band: #f5f7f9; --good: #00714f; --bad: #b3400a; --link: #005f94; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181c; --ink: #e6eaed; --soft: #9aa7b0;
  --line: #2c343b; --band: #1b2126; --good: #4cc79c; --bad: #ff9a62; --link: #6dbdf0; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .5rem 0 .25rem; }
h2 { font-size: 1.25rem; margin: 2.75rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 .25rem; }
p { margin: .4rem 0; max-width: 46rem; }
.soft, figcaption { color: var(--soft); font-size: .9rem; }
.verdict { font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .34rem .55rem; text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 500; border-bottom: 1px solid var(--line); vertical-align: bottom; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2), th:last-child { text-align: left; }
sub { line-height: 0; }
tbody tr:nth-child(odd) { background: var(--band); }
td.claims { text-align: left; white-space: normal; }
figure { margin: .75rem 0 0; }
img { display: block; max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: 6px; padding: 6px; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem; } .pair figure { flex: 1 1 20rem; max-width: 35rem; }
a { color: var(--link); }
code { font-size: .9em; }
@media (max-width: 46rem) {
  body { padding: 1rem .8rem 3rem; }
  thead { display: none; }
  table, tbody { display: block; }
  tr { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); column-gap: 1.2rem; padding: .5rem .4rem;
    border-bottom: 1px solid var(--line); }
  td, td.claims { display: flex; justify-content: space-between; gap: .6rem; padding: .12rem .3rem;
    text-align: right; white-space: nowrap; }
  td.wide { grid-column: 1 / -1; white-space: normal; }
  td::before { content: attr(data-name); color: var(--soft); }
  td:first-child { font-weight: 600; grid-column: 1 / -1; }
  td:first-child::before { content: none; }
  .scroll { overflow-x: auto; } .scroll img { max-width: none; width: 44rem; }
  td:empty { display: none; }
}
"""


@dataclass(frozen=True)
class Picture:
    """An image with its description."""

    path: pathlib.Path
    caption: str


@dataclass(frozen=True)
class SystemSection:
    """One system of the gallery in the page."""

    name: str
    description: str
    picture: Picture
    note: str


def page(
    measurements: list[Measurement],
    failures: list[str],
    film: Picture,
    convergence: list[Picture],
    sections: list[SystemSection],
    environment: str,
) -> str:
    """The whole page as text."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>dalembert: what was kept</title>
<style>{CSS}</style>
</head>
<body>
<h1>What was kept</h1>
<p>Every system of the gallery, simulated with every method that fits.
All numbers were measured in this run.</p>
{_verdict(measurements, failures)}
<p class="soft">{html.escape(environment)}</p>
{_table(measurements)}
<p class="soft">Orders: slopes fitted to the errors at a fixed time over four step sizes, in position q,
momentum p and multiplier &lambda;. Energy: the largest |E &minus; E(0)| over the run; in brackets where the
system does not conserve it. Speed: the fastest of several runs, compilation not counted.</p>
<h2>Motion</h2>
{_figure(film)}
<h2>Convergence</h2>
<div class="pair">{"".join(_figure(picture) for picture in convergence)}</div>
<h2>Systems</h2>
<p class="soft">Each figure: the path with the first and last configuration, momentum against position,
energy error, residuals of the constraints (dots: every state, line: the largest of each window, zeros at
10<sup>&minus;17</sup>), multipliers, and the change of the invariants.</p>
{"".join(_section(section) for section in sections)}
</body>
</html>
"""


def _verdict(measurements: list[Measurement], failures: list[str]) -> str:
    if not failures:
        return f'<p class="verdict good">{len(measurements)} runs: every claim of the methods holds.</p>'
    items = "".join(f"<li>{html.escape(text)}</li>" for text in failures)
    count = f"{len(failures)} claims do" if len(failures) > 1 else "1 claim does"
    return f'<p class="verdict bad">{count} not hold:</p><ul class="bad">{items}</ul>'


_COLUMNS = ("system", "method", "order q", "p", "&lambda;", "max |g|", "max |g<sub>q</sub>v + g<sub>t</sub>|",
            "energy", "steps/s", "claims")  # fmt: skip
_SHORT = (
    "system",
    "method",
    "order q",
    "order p",
    "order λ",
    "max |g|",
    "hidden",
    "energy",
    "steps/s",
    "claims",
)


def _table(measurements: list[Measurement]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    body = "".join(_row(found) for found in measurements)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(found: Measurement) -> str:
    constrained = "lam" in found.orders
    energy = small(found.energy_error)
    holds = (
        '<span class="good">hold</span>'
        if not found.failures
        else f'<span class="bad">{html.escape("; ".join(found.failures))}</span>'
    )
    cells = [
        html.escape(found.system_name),
        html.escape(found.method_name),
        *(_order(found.orders.get(name)) if name in found.orders else "" for name in ("q", "p", "lam")),
        small(found.max_constraint) if constrained else "",
        small(found.max_hidden) if constrained else "",
        energy if found.conserves_energy else f"({energy})",
        f"{found.steps_per_second:,.0f}",
        holds,
    ]
    last = ' class="claims"' if not found.failures else ' class="claims wide"'
    kinds = [*[""] * (len(cells) - 1), last]
    named = zip(_SHORT, kinds, cells, strict=True)
    return "<tr>" + "".join(f'<td data-name="{name}"{kind}>{cell}</td>' for name, kind, cell in named) + "</tr>"


def small(value: float) -> str:
    """1.2e-15, or 0."""
    return "0" if value == 0 else f"{value:.1e}"


def _order(value: float | None) -> str:
    return "&ndash;" if value is None else f"{value:.2f}"


def _section(section: SystemSection) -> str:
    return (
        f"<h3>{html.escape(section.name)}</h3><p>{html.escape(section.description)}</p>"
        f'<p class="soft">{html.escape(section.note)}</p>{_figure(section.picture, "scroll")}'
    )


def light_picture(path: pathlib.Path) -> bytes:
    """The file, a still picture with fewer pixels and colours: the page shall load on a telephone."""
    if path.suffix != ".png":
        return path.read_bytes()
    from PIL import Image

    with Image.open(path) as full:
        width = min(full.width, WIDEST)
        still = full.convert("RGB").resize((width, round(full.height * width / full.width)), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    still.quantize(128, dither=Image.Dither.NONE).save(buffer, format="PNG")
    return buffer.getvalue()


def _figure(picture: Picture, kind: str = "") -> str:
    data = base64.b64encode(light_picture(picture.path)).decode("ascii")
    caption = html.escape(picture.caption)
    shown = f"<figcaption>{caption}</figcaption>" if caption else ""
    alternative = caption or html.escape(f"overview of {picture.path.stem}")
    source = f"data:{_TYPES[picture.path.suffix]};base64,{data}"
    return f'<figure class="{kind}"><img src="{source}" alt="{alternative}" loading="lazy">{shown}</figure>'
