"""Everything a page loads lies in the package; a name that is not in the list is not served."""

from __future__ import annotations

import base64
import functools
import json
from importlib.resources import files

#: Modules by the names under which they import each other.
MODULES = {
    "three": "vendor/three.module.min.js",
    "three-core": "vendor/three.core.min.js",
    "three-orbit": "vendor/three.orbit.js",
    "studio/data": "data.js",
    "studio/impostors": "impostors.js",
    "studio/trail": "trail.js",
    "studio/outline": "outline.js",
    "studio/framing": "framing.js",
    "studio/sharpness": "sharpness.js",
    "studio/figure": "figure.js",
    "studio/arrows": "arrows.js",
    "studio/scene": "scene.js",
    "studio/plots": "plots.js",
    "studio/player": "player.js",
    "studio/view": "view.js",
    "studio/controls": "controls.js",
    "studio/connection": "connection.js",
    "studio/handles": "handles.js",
    "studio/pull": "pull.js",
    "studio/share": "share.js",
    "studio/waiting": "waiting.js",
    "studio/app": "app.js",
    "studio/start": "start.js",
    "studio/offline": "offline.js",
}
#: What a page without a server needs of them.
OFFLINE = (
    "three", "three-core", "three-orbit", "studio/data", "studio/impostors", "studio/trail", "studio/outline",
    "studio/framing", "studio/sharpness",
    "studio/figure", "studio/arrows", "studio/scene", "studio/plots", "studio/player", "studio/view",
    "studio/offline",
)  # fmt: skip
CURVES, STYLES = "vendor/uPlot.iife.min.js", ("vendor/uPlot.min.css", "studio.css")
TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


@functools.cache
def text_of(name: str) -> str:
    """The text of a file of the page. A library that imports its neighbour by a path finds it by name."""
    text = files("dalembert.studio").joinpath("static", *name.split("/")).read_text(encoding="utf-8")
    return text.replace('from"./three.core.min.js"', 'from"three-core"') if name == MODULES["three"] else text


@functools.cache
def served() -> dict[str, str]:
    """The names that may be asked for, with the type of each."""
    names = [*MODULES.values(), CURVES, *STYLES]
    names += [f"thumbnails/{name}.svg" for name in thumbnails()]
    return {name: TYPES[name.rpartition(".")[2]] for name in names}


@functools.cache
def thumbnails() -> tuple[str, ...]:
    """The systems of which there is a small picture."""
    folder = files("dalembert.studio").joinpath("static", "thumbnails")
    return tuple(sorted(item.name.removesuffix(".svg") for item in folder.iterdir() if item.name.endswith(".svg")))


def head(base: str, nonce: str, module: str) -> str:
    """The beginning of every page, up to its title: what the browser can load before it is known what is shown."""
    styles = "".join(f'<link rel="stylesheet" href="{base}/static/{name}">' for name in STYLES)
    early = "" if module == "studio/start" else "".join(
        f'<link rel="modulepreload" href="{base}/static/{file}">'
        for name, file in MODULES.items() if name not in ("studio/start", "studio/offline")
    )  # fmt: skip
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
{styles}
<script type="importmap" nonce="{nonce}">{import_map(base)}</script>
{early}
<script src="{base}/static/{CURVES}"></script>
"""


def import_map(base: str) -> str:
    """Where the modules are, for a page that a server delivers."""
    return json.dumps({"imports": {name: f"{base}/static/{file}" for name, file in MODULES.items()}})


@functools.cache
def offline_map() -> str:
    """The modules themselves, for a page without a server."""
    return json.dumps({"imports": {name: _data(text_of(MODULES[name])) for name in OFFLINE}})


def _data(text: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(text.encode()).decode("ascii")
