"""Figures and motions in the page: SVG inline, so that it can be zoomed and turned dark; motions as numbers."""

from __future__ import annotations

import base64
import functools
import html
import json
import pathlib
import re
from importlib.resources import files

from .formulas import inline_to_html
from .page import light_picture
from .records import FIGURES, PANELS

#: A figure with more bytes than this is shown as pixels.
LARGEST_SVG = 3_000_000
#: Names of colours for the legend of a motion, as the style sheet counts them.
COLOURS = 7


@functools.cache
def static(name: str) -> str:
    """A style sheet or a script of the page."""
    return files("dalembert.report").joinpath("static", name).read_text(encoding="utf-8")


def figure_html(folder: pathlib.Path, name: str, title: str) -> str:
    """The figure of an experiment, with the tools to zoom where there is something to zoom into."""
    vector, pixels = (folder / file for file in FIGURES)
    if vector.stat().st_size > LARGEST_SVG:
        data = base64.b64encode(light_picture(pixels)).decode("ascii")
        source = f"data:image/png;base64,{data}"
        return f'<figure><img class="figure" src="{source}" alt="{html.escape(title)}" loading="lazy"></figure>'
    panels = json.loads((folder / PANELS).read_text(encoding="utf-8"))
    for panel in panels:
        panel["id"] = unique(name, panel["id"])
    drawing = inline_svg(vector.read_text(encoding="utf-8"), name, title)
    if not panels:
        return f'<figure><div class="frame" tabindex="0" role="group" aria-label="figure">{drawing}</div></figure>'
    return (
        f'<figure class="zoomable"><div class="frame">{drawing}</div>{_json(panels)}'
        '<figcaption class="tools" hidden><button name="in" aria-label="zoom in">+</button> '
        '<button name="out" aria-label="zoom out">−</button> <button name="reset">show all</button> '
        '<span class="fine">Drag a box over the curves, or click and turn the wheel.</span>'
        '<span class="coarse">Tap the curves, then use two fingers.</span></figcaption></figure>'
    )


def unique(name: str, identity: str) -> str:
    """An id of one figure as an id of the page."""
    return f"{name}--{identity}"


def inline_svg(text: str, name: str, title: str) -> str:
    """The `svg` element of a file that matplotlib wrote, its ids made unique in the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', lambda m: f'id="{unique(name, m[1])}"', text)
    text = re.sub(r'xlink:href="#([^"]+)"', lambda m: f'href="#{unique(name, m[1])}"', text)
    text = re.sub(r"url\(#([^)]+)\)", lambda m: f"url(#{unique(name, m[1])})", text)
    text = re.sub(r'\s+xmlns(:xlink)?="[^"]*"', "", text)  # an HTML page knows these
    text = re.sub(r"\nL (-?\d+\.\d{3})\d* (-?\d+\.\d{3})\d*", r"\nL \1 \2", text)  # a thousandth of a point is enough
    width = re.search(r'viewBox="0 0 ([\d.]+)', text)
    natural = float(width[1]) if width else 500.0
    head = f'<svg class="figure" role="group" aria-label="{html.escape(title)}" style="--natural: {natural:.0f}px"'
    opening = re.sub(r'\s(?:width|height|version)="[^"]*"', "", text[: text.index(">")])
    return head + opening.removeprefix("<svg") + text[text.index(">") :]


def motion_html(motion: dict) -> str:
    """A motion with its player."""
    items = "".join(
        f'<li><span class="dot" style="--k: var(--point-{motion["colours"][k] if motion["colours"] else k})"></span>'
        f"{html.escape(name)}</li>"
        for k, name in enumerate(motion["names"])
    )
    names = f'<ul class="names">{items}</ul>' if items else ""
    sides = [high - low for low, high in zip(motion["low"], motion["high"], strict=True)]
    shape = sides[0] / sides[1] if motion["equal"] else 1.2
    ratio = 1.0 if len(sides) == 3 else min(max(shape, 0.55), 3.0)
    turning = " Drag it, or use the arrow keys, to turn it." if len(sides) == 3 else ""
    title = html.escape(motion["title"])
    data = {key: value for key, value in motion.items() if key not in ("title", "caption", "names", "code")}
    return (
        f'<figure class="motion"><h4>{title}</h4><canvas style="--ratio: {ratio:.3f}" role="img" '
        f'aria-label="{title}"></canvas>{_json(data)}'
        '<div class="tools" hidden><button name="play">Play</button>'
        f'<input type="range" min="0" value="0" aria-label="time in the motion: {title}"><output></output></div>'
        f"{names}"
        f"<figcaption>{inline_to_html(motion['caption'])}{turning}</figcaption></figure>"
    )


def _json(content) -> str:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    return f'<script type="application/json">{text}</script>'
