"""The pictures of docs/studio.md: `make test-browser` once for the browser, then `python docs/make_studio_pictures.py`.

With a folder as its argument it writes them there.
"""

from __future__ import annotations

import io
import pathlib
import shutil
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from dalembert.studio.server import bound_socket, new_token, serve
from dalembert.studio.studio import Studio

PICTURES = pathlib.Path(__file__).parent / "pictures"
WIDE, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 800}


def at(time: float) -> Callable[[Any], None]:
    """Go to a time."""
    return lambda page: page.locator("#scrub").fill(str(time))


def beside(page: Any) -> None:
    """A second method, and what both of them cost."""
    page.select_option("#beside", "gauss-spark-2")
    page.locator("#h").fill("0.1")
    page.locator("#h").press("Enter")
    page.wait_for_timeout(2000)
    page.click("#work")
    page.wait_for_selector("html[data-work]", state="attached", timeout=60_000)
    at(9.0)(page)


def fan(page: Any) -> None:
    """Neighbouring starts."""
    page.locator("#distance").fill("0.01")
    page.click("#perturb")
    page.wait_for_timeout(3000)
    at(8.0)(page)


def search(page: Any) -> None:
    """Some cards."""
    page.fill("#search", "rolling")


def pull(page: Any) -> None:
    """A point that is held."""
    page.click("#pull")
    page.wait_for_selector("html[data-live]", state="attached", timeout=60_000)
    for _ in range(20):  # until the pointer meets a point that moves
        x, y = red(page)
        page.mouse.move(x, y)
        page.mouse.down()
        if page.locator("canvas.held").count():
            break
        page.mouse.up()
    box = page.locator("#scene").bounding_box()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.3 * box["height"], steps=12)
    page.wait_for_timeout(2500)


def red(page: Any) -> tuple[float, float]:
    """The middle of what is red in the scene, in pixels of the page."""
    box = page.locator("#scene").bounding_box()
    with Image.open(io.BytesIO(page.locator("#scene").screenshot())) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    rows, columns = np.nonzero((pixels[..., 0] > 120) & (pixels[..., 1:].max(axis=2) < 0.55 * pixels[..., 0]))
    if not len(rows):
        return box["x"] + 1, box["y"] + box["height"] - 1
    return box["x"] + float(np.median(columns)), box["y"] + float(np.median(rows))


def dark(page: Any) -> None:
    """The dark colours, from the side."""
    page.click("#dark")
    at(2.5)(page)


def reactions(page: Any) -> None:
    """The forces of the constraints."""
    page.click("#reactions")
    page.wait_for_selector("#force-scale", state="visible")
    page.wait_for_selector("#scene[data-arrows]:not([data-arrows='0'])", timeout=60_000)
    page.wait_for_selector("#progress", state="hidden", timeout=60_000)
    at(6.0)(page)


#: name, what is opened, what is done, the size of the window.
SHOTS: tuple[tuple[str, str, Callable[[Any], None] | None, dict[str, int]], ...] = (
    ("start", "", None, WIDE),
    ("search", "", search, WIDE),
    ("double-pendulum", "show/double-pendulum", at(3.0), WIDE),
    ("compared", "show/pendulum", beside, WIDE),
    ("perturbed", "show/double-pendulum", fan, WIDE),
    ("pulled", "show/chain", pull, WIDE),
    ("four-bar", "show/four-bar", at(2.0), WIDE),
    ("heavy-top", "show/heavy-top", dark, WIDE),
    ("rolling-disc", "show/rolling-disc", reactions, WIDE),
    ("contact", "show/bouncing-ball", at(1.02), WIDE),
    ("forces", "show/rocking-block", at(0.5), WIDE),
    ("phone", "show/double-pendulum", at(3.0), PHONE),
)


def main(folder: pathlib.Path = PICTURES) -> None:
    """Write all of them."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    studio, listening, token = Studio(), bound_socket(0), new_token()
    threading.Thread(target=serve, args=(studio, token, listening), daemon=True).start()
    base = f"http://127.0.0.1:{listening.getsockname()[1]}/{token}/"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--enable-unsafe-swiftshader"])
        for name, path, act, size in SHOTS:
            page = browser.new_page(viewport=size)
            page.goto(base + path)
            if path:
                page.wait_for_selector("html[data-more]", state="attached", timeout=120_000)
            if act:
                act(page)
            page.wait_for_timeout(800)
            path_of_picture = folder / f"studio_{name}.png"
            page.screenshot(path=path_of_picture)
            with Image.open(path_of_picture) as picture:  # 256 colours are enough, and a third of the size
                small = picture.convert("RGB").quantize(256)
            small.save(path_of_picture, optimize=True)
            page.close()
        browser.close()


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:]))
