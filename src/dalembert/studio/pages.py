"""The pages of the studio as text: the start page with the gallery, and the page of one exhibit."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import DalembertError
from ..gallery import CONTACT_GALLERY, FAMILY_GALLERY, GALLERY, OVERDETERMINED_GALLERY, SYSTEMS
from ..method import METHODS, keeps
from ..plots.forces import forces_in
from .assets import thumbnails
from .computing import has_points
from .exhibit import Exhibit, about, fitting_methods, parameters_of, title_of
from .pictures import PLOTS

#: In the header of every view.
DARK = '<button type="button" id="dark" aria-pressed="false">dark</button>'
GROUPS = (
    ("Smooth systems", GALLERY),
    ("Systems with contact", CONTACT_GALLERY),
    ("Springs, bars and bodies", FAMILY_GALLERY),
    ("Overdetermined systems", OVERDETERMINED_GALLERY),
)


def start_page(base: str, nonce: str, opened: Iterable[Exhibit]) -> str:
    """Everything that can be shown, with pictures and a field to search; what follows the `head` of the page."""
    own = [(e.key, e.title, e.about) for e in opened if e.key not in SYSTEMS]
    sections = _section("Opened", own, base) if own else ""
    for name, systems in GROUPS:
        sections += _section(name, [(key, title_of(kind), about(kind)) for key, kind in systems.items()], base)
    body = f"""
<header class="bar"><h1>dalembert studio</h1>
<label class="search">Search <input type="search" id="search" placeholder="pendulum, rolling, impact"></label></header>
<main class="gallery"><p id="found" role="status" class="visually-hidden"></p>{sections}</main>
"""
    return _rest("dalembert studio", base, nonce, body, "studio/start")


def _section(name: str, entries: Iterable[tuple[str, str, str]], base: str) -> str:
    cards = "".join(
        f'<li><a class="card" href="{base}/show/{html.escape(key)}">{_thumbnail(key, base)}'
        f'<span class="name">{html.escape(title)}</span><span class="about">{html.escape(_first(text))}</span></a></li>'
        for key, title, text in entries
    )
    return f'<section><h2>{html.escape(name)}</h2><ul class="cards">{cards}</ul></section>'


def _thumbnail(key: str, base: str) -> str:
    if key not in thumbnails():
        return '<span class="no-picture" aria-hidden="true"></span>'
    return f'<img src="{base}/static/thumbnails/{key}.svg" alt="" width="160" height="120">'


def _first(text: str) -> str:
    sentence, stop, _ = text.partition(". ")
    sentence += "." if stop else ""
    return sentence if len(sentence) <= 140 else sentence[:137] + "..."


def exhibit_page(base: str, nonce: str, exhibit: Exhibit) -> str:
    """The page of one exhibit: the view, and what can be changed; what follows the `head` of the page."""
    body = f"""
<header class="bar"><a href="{base}/" class="home">Gallery</a><h1>{html.escape(exhibit.title)}</h1>
<span id="connection" role="status" class="state">connecting</span>{DARK}</header>
<main class="exhibit">
<aside class="panel" id="panel" aria-label="What can be changed">
<p class="about">{html.escape(exhibit.about)}</p><form id="controls" autocomplete="off"></form></aside>
{view_html()}
</main>
<script type="application/json" id="plots">{plots_json()}</script>
<script type="application/json" id="exhibit">{_embedded(describe(exhibit))}</script>
"""
    return _rest(f"{exhibit.title} · dalembert", base, nonce, body, "studio/app")


def view_html() -> str:
    """Scene, time and plots: what the studio and exported files have in common."""
    return """<section class="stage" aria-label="Scene">
<div class="scene"><canvas id="scene" tabindex="0" role="img"
 aria-label="The motion in space. Drag to turn, arrow keys turn, plus and minus zoom, space plays."></canvas>
<p id="no-scene" hidden>This system says nothing of points in space: its coordinates are drawn as plots.</p>
<p id="progress" hidden></p>
<p id="error" role="alert" hidden></p>
<div class="toolbars"><div class="tools" id="hands" role="toolbar" aria-label="Change by hand"></div>
<div class="tools" role="toolbar" aria-label="Forces">
<button type="button" id="contacts" aria-pressed="false" disabled>contacts</button>
<button type="button" id="reactions" aria-pressed="false" disabled>reactions</button>
<input type="range" id="force-scale" min="-1" max="1" step="0.02" value="0" aria-label="length of the arrows" hidden>
</div><div class="tools" role="toolbar" aria-label="View">
<button type="button" id="follow" aria-pressed="false">follow</button>
<button type="button" id="trails" aria-pressed="true">trails</button>
<button type="button" id="look-front">front</button><button type="button" id="look-side">side</button>
<button type="button" id="look-top">top</button><button type="button" id="look-all">all</button></div></div></div>
<div class="time" role="group" aria-label="Time">
<button type="button" id="play">play</button>
<input type="range" id="scrub" min="0" max="1" step="any" value="0" aria-label="time">
<output id="now">t = 0</output>
<label>speed <select id="speed"><option>0.1</option><option>0.25</option><option>0.5</option>
<option selected>1</option><option>2</option><option>5</option></select></label>
<label><input type="checkbox" id="loop" checked> loop</label></div>
<p id="facts" class="facts" role="status"></p><ul id="remarks" class="remarks"></ul></section>
<section class="plots" id="curves" aria-label="Plots"></section>"""


def plots_json() -> str:
    """The plots in their order."""
    return _embedded([{"key": key, "title": title, "log": log} for key, title, log in PLOTS])


def describe(exhibit: Exhibit) -> dict[str, Any]:
    """What the page has to know: parameters, methods, start, step size."""
    if exhibit.system is None or exhibit.run is not None:
        t = np.asarray(exhibit.run.t) if exhibit.run is not None else np.zeros(1)
        return {"key": exhibit.key, "recorded": True, "parameters": [], "methods": [], "method": exhibit.method,
                "h": 0.0, "t_end": float(t[-1]), "script": False, **_forces(exhibit)}  # fmt: skip
    try:
        launch = exhibit.start(exhibit.system)
        h, t_end = launch.h, launch.t_end
    except DalembertError:
        h, t_end = 0.01, 10.0
    return {
        "key": exhibit.key,
        "recorded": False,
        "parameters": [
            {"name": p.name, "value": p.value, "whole": p.whole} for p in parameters_of(exhibit.system)
        ],
        "methods": [
            {"name": name, "about": METHODS[name].summary, "order": method.order, "keeps": keeps(method.claims)}
            for name, method in fitting_methods(exhibit.system).items()
        ],
        "method": exhibit.method,
        "h": h,
        "t_end": t_end,
        "script": bool(exhibit.code),
        **_forces(exhibit),
    }  # fmt: skip


def _forces(exhibit: Exhibit) -> dict[str, bool]:
    """Of what there are forces to be drawn; those of contacts are shown at once."""
    system = exhibit.system if exhibit.run is None else exhibit.run.system
    return forces_in(system if has_points(system) else None)._asdict()


def _embedded(content: Any) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(content, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")


def _rest(title: str, base: str, nonce: str, body: str, module: str) -> str:
    return f"""<title>{html.escape(title)}</title>
</head>
<body data-base="{base}">{body}
<script type="module" nonce="{nonce}">import "{module}";</script>
</body>
</html>
"""
