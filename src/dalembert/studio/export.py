"""One self-contained HTML file that plays a run without a server and without a network."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import html
import json
import pathlib

from ..multibody import MultibodySystem
from ..plots import write_atomically
from .assets import CURVES, STYLES, offline_map, text_of
from .computing import Computed
from .exhibit import Exhibit
from .pages import DARK, plots_json, view_html
from .pictures import invariants_message, picture_message

#: Nothing is loaded: scripts and styles are those in the file, modules are data in it.
POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'; img-src data: blob:"


def export_html(exhibit: Exhibit, computed: Computed, *, invariants: bool = True) -> str:
    """The page as text."""
    # the reactions of joints are found by another formulation, which has to be compiled: where the page shows them
    reactions = computed.request.reactions or not isinstance(computed.run.system, MultibodySystem)
    request = dataclasses.replace(computed.request, contacts=True, reactions=reactions)
    computed = dataclasses.replace(computed, request=request)
    messages = [picture_message(exhibit, computed)]
    more = invariants_message(exhibit, computed) if invariants else None
    messages += [more] if more is not None else []
    data = json.dumps([base64.b64encode(gzip.compress(message, 6)).decode("ascii") for message in messages])
    styles = "\n".join(text_of(name) for name in STYLES)
    about = html.escape(exhibit.about)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{html.escape(exhibit.title)} · dalembert</title>
<style>{styles}</style>
<script>{text_of(CURVES)}</script>
<script type="importmap">{offline_map()}</script>
</head>
<body class="offline">
<header class="bar"><h1>{html.escape(exhibit.title)}</h1><p class="about">{about}</p>{DARK}</header>
<main class="view-only">{view_html()}</main>
<script type="application/json" id="plots">{plots_json()}</script>
<script type="application/json" id="run">{data}</script>
<script type="module">import "studio/offline";</script>
</body>
</html>
"""


def write_export(path: pathlib.Path, text: str) -> pathlib.Path:
    """The page as a file, whole or not at all."""
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))
    return path
