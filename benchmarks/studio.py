"""How soon the studio answers, in a headless Chromium: `python -m benchmarks.studio` (needs `make test-browser` once).

From moving a slider to the new picture, frames per second while a run plays with what a frame costs, and seconds to the
first picture. Without a GPU the scene is drawn by the processor, on the same cores that compute; on a machine that is
busy otherwise, the cost of a frame says more than their number.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
from playwright.sync_api import sync_playwright

from dalembert.gallery import Chain
from dalembert.studio import system_exhibit
from dalembert.studio.server import bound_socket, new_token, serve
from dalembert.studio.studio import Studio

#: Moves of a slider, of which the median is taken.
MOVES = 60
PLAYING = 3.0
COUNT_FRAMES = """(seconds) => new Promise((done) => {
  const begun = performance.now(); let frames = 0;
  const frame = (now) => { frames += 1; if (now - begun < 1000 * seconds) requestAnimationFrame(frame);
    else done(1000 * frames / (now - begun)); };
  requestAnimationFrame(frame);
})"""


def latency(page, slider: str) -> tuple[float, float]:
    """Milliseconds from a move to the picture: the median, and the slowest of twenty."""
    found = []
    for k in range(MOVES):
        before = page.get_attribute("html", "data-identity")
        page.locator(slider).fill(str(5.0 + 0.1 * k))
        deadline = time.monotonic() + 20
        while page.get_attribute("html", "data-identity") == before and time.monotonic() < deadline:
            time.sleep(0.002)
        page.wait_for_timeout(30)
        found.append(float(page.get_attribute("html", "data-latency")))
    return float(np.median(found[5:])), float(np.quantile(found[5:], 0.95))


def work(root: int) -> float:
    """Milliseconds that the browser has computed, in all of its threads."""
    processes, kin = {}, [root]
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            processes[int(stat.parent.name)] = int(stat.read_text().rsplit(")", 1)[1].split()[1])
    for process in kin:
        kin += [child for child, parent in processes.items() if parent == process]
    total = 0.0
    for process in kin[1:]:  # what the driver itself does is not counted
        for schedule in pathlib.Path(f"/proc/{process}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(schedule.read_text().split()[0]) / 1e6
    return total


def playing(page) -> tuple[float, float]:
    """Frames per second while a run plays, and the milliseconds of all processors that one takes."""
    before, begun = work(os.getpid()), time.monotonic()
    frames = page.evaluate(COUNT_FRAMES, PLAYING)
    return frames, (work(os.getpid()) - before) / (frames * (time.monotonic() - begun))


def first_picture(browser) -> tuple[float, float]:
    """Seconds from the command to the picture of the start and to that of the run, everything compiled before."""
    begun = time.monotonic()
    command = [sys.executable, "-u", "-m", "dalembert", "studio", "double-pendulum", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = running.stdout.readline().split()[-1]
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("html[data-pose], html[data-identity]", state="attached", timeout=60_000)
        start = time.monotonic() - begun
        page.wait_for_selector("html[data-identity]", state="attached", timeout=60_000)
        seconds = time.monotonic() - begun
        page.close()
        running.terminate()
    return start, seconds


def main() -> None:
    """Print the numbers."""
    chains = [system_exhibit(f"chain-{n}", Chain(links=n)) for n in (100, 200)]
    studio, listening, token = Studio(chains), bound_socket(0), new_token()
    threading.Thread(target=serve, args=(studio, token, listening), daemon=True).start()
    base = f"http://127.0.0.1:{listening.getsockname()[1]}/{token}/show/"
    with sync_playwright() as driver:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--enable-unsafe-swiftshader"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        for name, key in (("double pendulum over 10 s", "double-pendulum"), ("chain of 100 links", "chain-100")):
            page.goto(base + key)
            page.wait_for_selector("html[data-more]", state="attached", timeout=120_000)
            median, slow = latency(page, "#parameter-gravity")
            print(f"slider to picture, {name}: median {median:.0f} ms, 95 % within {slow:.0f} ms")
        page.goto(base + "chain-200")
        page.wait_for_selector("html[data-more]", state="attached", timeout=120_000)
        page.click("#play")
        frames, each = playing(page)
        print(
            f"200 points and bars while they play: {frames:.0f} frames per second, {each:.1f} ms of processors a frame"
        )
        first_picture(browser)
        start, seconds = first_picture(browser)
        print(f"command to the picture of the start: {start:.1f} s, of the run: {seconds:.1f} s")
        browser.close()


if __name__ == "__main__":
    main()
