"""The page of the reproduced papers: all claims with their verdicts on top, then figure by figure."""

from __future__ import annotations

import base64
import html
import itertools
import pathlib
from collections.abc import Iterable, Mapping

from ..papers import CONFIRMED, CORRECTED, REFUTED, Claim, Experiment, Paper
from .formulas import inline_to_html, text_to_html
from .page import CSS, light_picture
from .records import FIGURES, RESULT, Record, file_stem, folder_of

#: A figure with more bytes than this is shown as pixels.
LARGEST_SVG = 400_000
#: Tables with more rows than this are not shown, only linked.
MOST_ROWS = 12

_CSS = """
.formula { white-space: nowrap; } .formula i { font-family: "STIX Two Text", "Times New Roman", serif; }
sub, sup { line-height: 0; font-size: .75em; }
.counts { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; padding: 0; margin: .8rem 0; list-style: none; }
.counts b { font-size: 1.25rem; }
.warn { color: var(--warn); } .verdict { white-space: nowrap; }
:root { --warn: #7a5a00; } @media (prefers-color-scheme: dark) { :root { --warn: #e3bd5b; } }
table.claims td, table.claims th { text-align: left; white-space: normal; vertical-align: top; }
table.claims td:first-child { white-space: nowrap; }
table.claims td:last-child { white-space: nowrap; }
table.numbers { width: auto; max-width: 100%; margin: .6rem 0; }
table.numbers th:not(:first-child), table.numbers td:not(:first-child) { text-align: right; }
ol.claims { padding-left: 1.2rem; max-width: 46rem; } ol.claims li { margin: .55rem 0; overflow-wrap: anywhere; }
ol.claims p { margin: .1rem 0; } img.figure { width: 100%; max-width: 46rem; }
section.experiment { border-top: 1px solid var(--line); margin-top: 2rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 46rem) {
  .formula { white-space: normal; }
  table.claims tr { display: block; }
  table.claims td, table.claims td:last-child { display: block; text-align: left; white-space: normal; }
  table.claims td::before { content: none; }
  table.numbers { width: 100%; } table.numbers tr { display: block; }
  table.numbers td { white-space: normal; overflow-wrap: anywhere; }
}
"""

_KINDS = {CONFIRMED: "good", CORRECTED: "warn", REFUTED: "bad"}


def reproduction_page(
    experiments: Mapping[str, Experiment],
    records: Mapping[str, Record],
    output: pathlib.Path,
    quick: bool,
    environment: str,
) -> str:
    """The whole page as text."""
    by_paper = itertools.groupby(experiments.values(), key=lambda experiment: experiment.paper)
    sections = "".join(_paper_section(paper, group, records, output) for paper, group in by_paper)
    mode = "quick version: shorter runs, parts of the long tables" if quick else "full version"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>dalembert: the papers, computed again</title>
<style>{CSS}{_CSS}</style>
</head>
<body>
<h1>The papers, computed again</h1>
<p>Figures and tables of the papers behind the methods, each computed anew, and what the papers say about them,
claim by claim. All numbers were measured by this program.</p>
{_overall(records)}
<p class="soft">{html.escape(environment)} This is the {mode}.</p>
{_claims_table(records)}
{sections}
</body>
</html>
"""


def verdict_words(claim: Claim) -> tuple[str, str]:
    """What to call a verdict, and its kind: good, warn or bad."""
    if claim.verdict == REFUTED and claim.as_expected:
        return "refuted, explained", "warn"
    if not claim.as_expected:
        return f"{claim.verdict}, unexpectedly", "bad"
    return claim.verdict, _KINDS[claim.verdict]


def _overall(records: Mapping[str, Record]) -> str:
    claims = [claim for record in records.values() for claim in record.claims]
    counts = [
        (sum(claim.verdict == CONFIRMED and claim.as_expected for claim in claims), "confirmed", "good"),
        (sum(claim.verdict == CORRECTED for claim in claims), "confirmed with a correction", "warn"),
        (
            sum(claim.verdict == REFUTED and claim.as_expected for claim in claims),
            "refuted, with an explanation",
            "warn",
        ),
        (sum(not claim.as_expected for claim in claims), "against expectation", "bad"),
        (sum(bool(record.error) for record in records.values()), "experiments failed", "bad"),
    ]
    items = "".join(f'<li class="{kind}"><b>{n}</b> {words}</li>' for n, words, kind in counts if n)
    failures = [line for record in records.values() for line in record.failures]
    listed = "".join(f"<li>{html.escape(line)}</li>" for line in failures)
    return f'<ul class="counts">{items}</ul>' + (f'<ul class="bad">{listed}</ul>' if failures else "")


def _claims_table(records: Mapping[str, Record]) -> str:
    rows = []
    for record in records.values():
        link = f'<a href="#{html.escape(record.name)}">{html.escape(record.name)}</a>'
        if record.error:
            rows.append((link, html.escape(record.error), '<span class="bad">failed</span>'))
        for claim in record.claims:
            words, kind = verdict_words(claim)
            rows.append((link, inline_to_html(claim.statement), f'<span class="{kind}">{words}</span>'))
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    head = "<thead><tr><th>figure or table</th><th>claim</th><th>verdict</th></tr></thead>"
    return f'<table class="claims">{head}<tbody>{body}</tbody></table>'


def _paper_section(
    paper: Paper, group: Iterable[Experiment], records: Mapping[str, Record], output: pathlib.Path
) -> str:
    parts = "".join(_experiment_section(experiment, records[experiment.name], output) for experiment in group)
    return (
        f'<h2>{html.escape(paper.title)}</h2><p class="soft">{html.escape(paper.citation)}</p>'
        f"<p>{inline_to_html(paper.about)}</p>{parts}"
    )


def _experiment_section(experiment: Experiment, record: Record, output: pathlib.Path) -> str:
    folder = folder_of(output, experiment.name)
    head = (
        f'<section class="experiment" id="{html.escape(experiment.name)}"><h3>{html.escape(experiment.title)}</h3>'
        f'<p class="soft">{html.escape(experiment.name)}</p>{text_to_html(experiment.setup)}'
    )
    if record.error:
        return f'{head}<p class="bad">It failed: {html.escape(record.error)}</p></section>'
    claims = "".join(_claim(claim) for claim in record.claims)
    tables = "".join(_numbers(name, table) for name, table in record.tables.items())
    return (
        f'{head}{_figure(folder, experiment.title)}<ol class="claims">{claims}</ol>{tables}'
        f'<p class="soft">{_files(experiment.name, record)}; {record.seconds:.1f} s</p></section>'
    )


def _claim(claim: Claim) -> str:
    words, kind = verdict_words(claim)
    note = f'<p class="soft">{inline_to_html(claim.note)}</p>' if claim.note else ""
    return (
        f'<li><p>{inline_to_html(claim.statement)} <span class="{kind}"><b>{words}</b></span></p>'
        f"<p>Measured: {inline_to_html(claim.measured)}</p>{note}</li>"
    )


def _figure(folder: pathlib.Path, title: str) -> str:
    vector, pixels = (folder / name for name in FIGURES)
    if vector.stat().st_size <= LARGEST_SVG:
        kind, data = "image/svg+xml", vector.read_bytes()
    else:
        kind, data = "image/png", light_picture(pixels)
    source = f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
    return f'<figure><img class="figure" src="{source}" alt="{html.escape(title)}" loading="lazy"></figure>'


def _numbers(name: str, table: Mapping[str, list]) -> str:
    """A short table; columns of one length."""
    columns = list(table)
    count = len(table[columns[0]]) if columns else 0
    if not 0 < count <= MOST_ROWS:
        return ""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>"
        + "".join(f'<td data-name="{html.escape(column)}">{_value(table[column][k])}</td>' for column in columns)
        + "</tr>"
        for k in range(count)
    )
    return f'<table class="numbers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _value(value) -> str:
    if value is None:
        return "&ndash;"
    return f"{value:.3g}" if isinstance(value, float) else html.escape(str(value))


def _files(name: str, record: Record) -> str:
    files = [*FIGURES, RESULT, *(f"{file_stem(table)}.csv" for table in record.tables)]
    return ", ".join(f'<a href="experiments/{html.escape(name)}/{file}">{file}</a>' for file in files)
