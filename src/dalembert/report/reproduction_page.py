"""The page of the reproduced papers: all claims with their verdicts on top, then figure by figure."""

from __future__ import annotations

import html
import itertools
import pathlib
from collections.abc import Iterable, Mapping, Sequence

from ..papers import CONFIRMED, CORRECTED, REFUTED, Claim, Experiment, Paper
from .embedding import figure_html, motion_html, static
from .formulas import inline_to_html, text_to_html
from .motions import Motions
from .page import CSS
from .records import FIGURES, RESULT, Record, file_stem, folder_of

#: Tables with more rows than this are not shown, only linked.
MOST_ROWS = 12

_KINDS = {CONFIRMED: "good", CORRECTED: "warn", REFUTED: "bad"}


def reproduction_page(
    experiments: Mapping[str, Experiment],
    records: Mapping[str, Record],
    output: pathlib.Path,
    quick: bool,
    environment: str,
    motions: Motions,
    failures: Sequence[str] = (),
) -> str:
    """The whole page as text; `failures` are those that belong to no experiment."""
    papers = _by_paper(experiments)
    sections = "".join(
        _paper_section(paper, group, records, motions.get(paper.key, {}), output) for paper, group in papers
    )
    contents = "".join(f'<li><a href="#{_anchor(paper)}">{html.escape(paper.title)}</a></li>' for paper, _ in papers)
    mode = "quick version: shorter runs, parts of the long tables" if quick else "full version"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>dalembert: the papers, computed again</title>
<style>{CSS}{static("report.css")}</style>
</head>
<body>
<h1>The papers, computed again</h1>
<p>Figures and tables of the papers behind the methods, each computed anew, and what the papers say about them,
claim by claim. All numbers were measured by this program.</p>
{_overall(records, failures)}
<p class="soft">{html.escape(environment)} This is the {mode}.</p>
<nav aria-label="papers"><ul>{contents}</ul></nav>
<h2 id="claims">All claims</h2>
{_claims_table(papers, records)}
{sections}
<script>{static("zoom.js")}</script>
<script>{static("player.js")}</script>
</body>
</html>
"""


def _by_paper(experiments: Mapping[str, Experiment]) -> list[tuple[Paper, list[Experiment]]]:
    groups = itertools.groupby(experiments.values(), key=lambda experiment: experiment.paper)
    return [(paper, list(group)) for paper, group in groups]


def _anchor(paper: Paper) -> str:
    return f"paper-{html.escape(paper.key)}"


def verdict_words(claim: Claim) -> tuple[str, str]:
    """What to call a verdict, and its kind: good, warn or bad."""
    if claim.verdict == REFUTED and claim.as_expected:
        return "refuted, explained", "warn"
    if not claim.as_expected:
        return f"{claim.verdict}, unexpectedly", "bad"
    return claim.verdict, _KINDS[claim.verdict]


def _overall(records: Mapping[str, Record], others: Sequence[str]) -> str:
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
    failures = [*(line for record in records.values() for line in record.failures), *others]
    listed = "".join(f"<li>{html.escape(line)}</li>" for line in failures)
    return f'<ul class="counts">{items}</ul>' + (f'<ul class="bad">{listed}</ul>' if failures else "")


def _claims_table(papers: Iterable[tuple[Paper, list[Experiment]]], records: Mapping[str, Record]) -> str:
    bodies = []
    for paper, group in papers:
        title = f'<a href="#{_anchor(paper)}">{html.escape(paper.title)}</a>'
        lines = [f'<tr><th class="paper" colspan="3" scope="colgroup">{title}</th></tr>']
        for record in (records[experiment.name] for experiment in group):
            for k, (link, statement, verdict) in enumerate(_claim_rows(record)):
                begin, place = (' class="first"', link) if k == 0 else ("", "")  # one link for all claims of a figure
                lines.append(f"<tr{begin}><td>{place}</td><td>{statement}</td><td>{verdict}</td></tr>")
        bodies.append(f"<tbody>{''.join(lines)}</tbody>")
    head = "<thead><tr><th>figure or table</th><th>claim</th><th>verdict</th></tr></thead>"
    return f'<table class="claims">{head}{"".join(bodies)}</table>'


def _claim_rows(record: Record) -> list[tuple[str, str, str]]:
    """Link, statement and verdict of every claim of an experiment."""
    link = f'<a href="#{html.escape(record.name)}">{html.escape(record.name)}</a>'
    rows = [(link, html.escape(record.error), '<span class="bad">failed</span>')] if record.error else []
    for claim in record.claims:
        words, kind = verdict_words(claim)
        rows.append((link, inline_to_html(claim.statement), f'<span class="{kind}">{words}</span>'))
    return rows


def _paper_section(
    paper: Paper,
    group: Iterable[Experiment],
    records: Mapping[str, Record],
    motions: Mapping[str, dict],
    output: pathlib.Path,
) -> str:
    parts = "".join(_experiment_section(experiment, records[experiment.name], output) for experiment in group)
    played = "".join(motion_html(motion) for motion in motions.values())
    watched = f'<h3>The motions</h3><div class="motions">{played}</div>' if played else ""
    return (
        f'<h2 id="{_anchor(paper)}">{html.escape(paper.title)}</h2><p class="soft">{html.escape(paper.citation)}</p>'
        f"<p>{inline_to_html(paper.about)}</p>"
        f"{watched}{parts}"
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
        f'{head}{figure_html(folder, experiment.name, experiment.title)}<ol class="claims">{claims}</ol>{tables}'
        f'<p class="soft">{_files(experiment.name, record)}; {record.seconds:.1f} s</p></section>'
    )


def _claim(claim: Claim) -> str:
    words, kind = verdict_words(claim)
    note = f'<p class="soft">{inline_to_html(claim.note)}</p>' if claim.note else ""
    return (
        f'<li><p>{inline_to_html(claim.statement)} <span class="{kind}"><b>{words}</b></span></p>'
        f"<p>Measured: {inline_to_html(claim.measured)}</p>{note}</li>"
    )


def _numbers(name: str, table: Mapping[str, list]) -> str:
    """A short table; columns of one length."""
    columns = list(table)
    count = len(table[columns[0]]) if columns else 0
    if not 0 < count <= MOST_ROWS:
        return ""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_value(table[column][k])}</td>" for column in columns) + "</tr>" for k in range(count)
    )
    return (
        f"<details><summary>Numbers: {html.escape(name)}</summary>"
        f'<div class="frame" tabindex="0" role="group" aria-label="{html.escape(name)}">'
        f'<table class="numbers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></details>'
    )


def _value(value) -> str:
    if value is None:
        return "&ndash;"
    return f"{value:.3g}" if isinstance(value, float) else html.escape(str(value))


def _files(name: str, record: Record) -> str:
    files = [*FIGURES, RESULT, *(f"{file_stem(table)}.csv" for table in record.tables)]
    return ", ".join(f'<a href="experiments/{html.escape(name)}/{file}">{file}</a>' for file in files)
