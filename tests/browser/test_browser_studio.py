"""The studio in a real browser, as somebody uses it: `make test-browser`."""

import contextlib
import json
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dalembert as da

pytest.importorskip("starlette", reason="the studio is not installed: pip install 'dalembert[studio]'")

import uvicorn

from dalembert.studio import system_exhibit
from dalembert.studio.exhibit import Launch
from dalembert.studio.server import application, bound_socket, new_token
from dalembert.studio.studio import Studio

pytestmark = pytest.mark.long

BLUE = (0x24, 0x63, 0xA8)  # of the first point


class Coordinates(da.System):
    """A system that says nothing of points."""

    def lagrangian(self, t, q, v):
        return 0.5 * v @ v - 0.5 * q @ q


class Running:
    """A studio whose server can be stopped and started again at the same address."""

    def __init__(self) -> None:
        launch = Launch(np.array([1.0, 0.0, 0.0]), np.zeros(3), 0.0, 5.0, 0.01)
        hanging = Launch(np.array([0.0, -1.0]), np.zeros(2), 0.0, 5.0, 0.01)
        self.studio = Studio(
            [
                system_exhibit("coordinates", Coordinates(), launch),
                system_exhibit("hanging", da.gallery.Pendulum(), hanging),
            ]
        )
        self.token, self.port = new_token(), 0
        self.start()

    def start(self) -> None:
        listening = bound_socket(self.port)
        self.port = listening.getsockname()[1]
        app = application(self.studio, self.token, self.port)
        config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listening]}, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        assert not self.thread.is_alive()

    def address(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}/{self.token}/{path}"


@pytest.fixture(scope="module")
def running():
    found = Running()
    yield found
    found.stop()
    found.studio.worker.close()


@pytest.fixture
def page(browser, running):
    """A page that may reach nothing but the studio, and that must not complain."""
    troubles: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 720}, accept_downloads=True)

    def route(request):
        if request.request.url.startswith((running.address(), "data:", "blob:")):
            request.continue_()
        else:
            troubles.append(f"asks for {request.request.url}")
            request.abort()

    context.route("**/*", route)
    opened = context.new_page()
    opened.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: troubles.append(str(error)))
    opened.troubles = troubles
    yield opened
    context.close()
    assert [text for text in troubles if "WebSocket" not in text] == []


def facts(page) -> str:
    return page.inner_text("#facts")


def number(page, name: str) -> float:
    """A number that the page keeps on its root element."""
    return float(page.get_attribute("html", f"data-{name}"))


def opened(page, running, key: str):
    page.goto(running.address(f"show/{key}"))
    page.wait_for_selector("html[data-identity]", state="attached", timeout=60_000)
    return page


@contextlib.contextmanager
def another_run(page):
    """Wait until the run is shown that the block has asked for."""
    before = number(page, "asked")
    yield
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if number(page, "asked") > before and number(page, "identity") >= number(page, "asked"):
            return
        page.wait_for_timeout(20)
    raise AssertionError("the run was not shown within a minute")


def place_of(page, colour=BLUE, tolerance: int = 40) -> tuple[float, float]:
    """The middle of what has a colour in the scene, in pixels of the page."""
    page.wait_for_timeout(300)
    path = "/tmp/studio-scene.png"
    page.screenshot(path=path)
    pixels = np.round(255 * plt.imread(path)[..., :3]).astype(int)
    box = page.locator("#scene").bounding_box()
    top, left = int(box["y"]), int(box["x"])
    part = pixels[top + 60 : int(top + box["height"]), left : int(left + box["width"])]
    shade = part - np.array(colour)
    rows, columns = np.nonzero((np.abs(shade - shade.mean(axis=2, keepdims=True)).max(axis=2) < tolerance)
                               & (np.abs(shade.mean(axis=2)) < 60))  # fmt: skip
    assert len(rows) > 20, "nothing of this colour is drawn"
    return left + float(np.median(columns)), top + 60 + float(np.median(rows))


def drag(page, begin: tuple[float, float], end: tuple[float, float], parts: int = 8, release: bool = True) -> None:
    page.mouse.move(*begin)
    page.mouse.down()
    for k in range(1, parts + 1):
        page.mouse.move(*(a + (b - a) * k / parts for a, b in zip(begin, end, strict=True)))
        page.wait_for_timeout(40)
    if release:
        page.mouse.up()


def script_of(page) -> str:
    page.click("#copy-script")
    page.wait_for_selector("#script:not([hidden])")
    return page.input_value("#script")


def test_the_start_page_finds_a_system_and_opens_it(page, running):
    page.goto(running.address())
    assert page.locator(".card").count() > 30
    broken = page.evaluate("[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)")
    assert broken == []
    page.fill("#search", "double pend")
    shown = [card for card in page.locator(".card").all() if card.is_visible()]
    assert 1 <= len(shown) < 6
    shown[0].click()
    page.wait_for_selector("html[data-identity]", state="attached", timeout=60_000)
    assert page.inner_text("h1") == "Double pendulum"
    assert "steps with h" in facts(page)


def test_the_start_is_seen_while_the_first_run_is_computed(page, running):
    computed = threading.Event()
    running.studio.worker.submit("in the way", lambda check: computed.wait(60) and None)
    page.goto(running.address("show/rolling-disc"))
    page.wait_for_selector("html[data-pose]", state="attached", timeout=30_000)
    assert page.get_attribute("html", "data-identity") is None
    page.wait_for_selector("#progress:not([hidden])", timeout=10_000)
    assert "preparing the equations" in page.inner_text("#progress")
    place_of(page)  # the first point is there
    computed.set()
    page.wait_for_selector("html[data-identity]", state="attached", timeout=60_000)
    assert not page.is_visible("#progress")


def test_play_scrub_and_keys(page, running):
    opened(page, running, "pendulum")
    page.click("#play")
    page.wait_for_timeout(600)
    assert number(page, "time") > 0.1
    page.click("#play")
    stopped = number(page, "time")
    page.wait_for_timeout(200)
    assert number(page, "time") == stopped
    page.locator("#scrub").fill("5")
    assert number(page, "time") == 5
    page.focus("#scene")
    page.keyboard.press("End")
    assert number(page, "time") == 10
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    page.wait_for_timeout(300)
    assert number(page, "time") > 0


def test_a_slider_changes_the_run(page, running):
    opened(page, running, "pendulum")
    before, picture = facts(page), page.locator(".curve[data-plot=energy]").screenshot()
    with another_run(page):
        page.locator("#parameter-gravity").fill("15")
    assert facts(page) != before
    assert page.locator(".curve[data-plot=energy]").screenshot() != picture
    assert float(page.locator("input[name=gravity]").input_value()) == pytest.approx(15, rel=0.01)
    assert number(page, "latency") > 0


def test_a_start_is_dragged_and_stays_on_the_constraint(page, running):
    opened(page, running, "pendulum")
    page.click("#move-start")
    begin = place_of(page)
    with another_run(page):
        drag(page, begin, (begin[0] - 60, begin[1] + 90))
    page.wait_for_timeout(500)
    text = script_of(page)
    q0 = np.array(json.loads(re.search(r"q0 = np.array\((.*?)\)", text).group(1)))
    assert np.linalg.norm(q0 - [1.0, 0.0]) > 0.05
    assert abs(q0 @ q0 - 1) < 1e-12


def arrows(page) -> int:
    return int(page.get_attribute("#scene", "data-arrows") or 0)


def test_forces_are_drawn(page, running):
    opened(page, running, "double-pendulum")
    assert arrows(page) == 0
    assert page.is_disabled("#contacts")
    without = page.locator("#scene").screenshot()
    with another_run(page):
        page.click("#reactions")
    assert arrows(page) == 3  # of two rods on two points, one of them between both
    assert page.locator("#scene").screenshot() != without
    page.locator("#force-scale").fill("0.8")
    page.click("#reactions")
    assert arrows(page) == 0
    assert not page.is_visible("#force-scale")


def test_contacts_are_drawn_at_once_and_in_exported_pages(page, running, browser, tmp_path):
    opened(page, running, "rocking-block")
    page.locator("#scrub").fill("0.5")
    assert arrows(page) == 1
    with page.expect_download() as download:
        page.click("#save-html")
    download.value.save_as(tmp_path / "run.html")
    alone = browser.new_page()
    alone.goto((tmp_path / "run.html").as_uri())
    alone.wait_for_selector("html[data-identity]", state="attached", timeout=30_000)
    alone.locator("#scrub").fill("0.5")
    assert arrows(alone) == 1
    alone.close()


def test_another_method_and_one_beside_it(page, running):
    opened(page, running, "pendulum")
    with another_run(page):
        page.select_option("#method", "gauss-spark-2")
    assert "gauss" in facts(page).lower()
    with another_run(page):
        page.select_option("#beside", "rattle")
    assert "rattle" in page.inner_text(".curve[data-plot=energy]").lower()
    with another_run(page):
        page.click("#perturb")
    with another_run(page):
        page.click("#reset")
    assert page.input_value("#method") == "rattle"


def test_the_script_gives_the_numbers_that_are_seen(page, running, tmp_path):
    opened(page, running, "double-pendulum")
    with another_run(page):
        page.locator("input[name=length2]").fill("0.7")
        page.locator("input[name=length2]").press("Enter")
    (tmp_path / "run.py").write_text(script_of(page))
    with page.expect_download() as download:
        page.click("#save-nc")
    download.value.save_as(tmp_path / "seen.nc")
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen, repeated = da.load(tmp_path / "seen.nc"), da.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(seen.q, repeated.q)
    np.testing.assert_array_equal(seen.energy, repeated.energy)


def test_an_exported_page_plays_without_a_network(page, running, browser, tmp_path):
    opened(page, running, "rolling-disc")
    with page.expect_download() as download:
        page.click("#save-html")
    download.value.save_as(tmp_path / "run.html")
    context, troubles = browser.new_context(viewport={"width": 1280, "height": 720}), []
    context.set_offline(True)
    alone = context.new_page()
    alone.on("pageerror", lambda error: troubles.append(str(error)))
    alone.on("request", lambda request: troubles.append(request.url) if request.url.startswith("http") else None)
    alone.goto((tmp_path / "run.html").as_uri())
    alone.wait_for_selector("html[data-identity]", state="attached", timeout=30_000)
    alone.click("#play")
    alone.wait_for_timeout(500)
    assert number(alone, "time") > 0.1
    assert alone.locator(".curve").count() >= 2
    assert troubles == []
    context.close()


def test_pictures_and_films_are_saved(page, running, tmp_path):
    opened(page, running, "pendulum")
    with another_run(page):
        page.locator("#t_end").fill("1")
        page.locator("#t_end").press("Enter")
    for button, begin in (("#save-png", b"\x89PNG"), ("#save-gif", b"GIF8")):
        with page.expect_download(timeout=120_000) as download:
            page.click(button)
        download.value.save_as(tmp_path / "saved")
        assert (tmp_path / "saved").read_bytes().startswith(begin)


def test_a_lost_connection_comes_back(page, running):
    opened(page, running, "pendulum")
    running.stop()
    page.wait_for_selector("#connection[data-lost=true]", timeout=20_000)
    running.start()
    page.wait_for_selector("#connection[data-lost=false]", timeout=20_000)
    before = facts(page)
    with another_run(page):
        page.locator("#parameter-gravity").fill("3")
    assert facts(page) != before
    page.troubles[:] = [text for text in page.troubles if "ERR_CONNECTION_REFUSED" not in text]


BAD = [
    "", "not JSON", "[]", "1", "null", "{}", '{"kind": "open", "path": "/etc/passwd"}', '{"kind": "run"}',
    '{"kind": "run", "identity": -1}', '{"kind": "run", "identity": "a", "method": "rattle"}',
    '{"kind": "run", "identity": 1, "method": 3}', '{"kind": "run", "identity": 1, "method": "rattle", "h": 0}',
    '{"kind": "run", "identity": 1, "method": "rattle", "h": 1e999}',
    '{"kind": "run", "identity": 1, "method": "rattle", "h": NaN}',
    '{"kind": "run", "identity": 1, "method": "rattle", "q0": []}',
    '{"kind": "run", "identity": 1, "method": "rattle", "q0": [1], "v0": null}',
    '{"kind": "run", "identity": 1, "method": "rattle", "parameters": [1]}',
    '{"kind": "run", "identity": 1, "method": "rattle", "file": "/etc/passwd"}',
    '{"kind": "run", "identity": 1, "method": "rattle", "drag": {"point": -1, "to": [0, 0]}}',
    '{"kind": "run", "identity": 1, "method": "rattle", "neighbours": {"count": 1000000, "distance": 1}}',
    '{"kind": "pull", "identity": 1, "point": 0, "to": "there"}',
    '{"kind": "pull", "identity": 1, "point": 0.5, "to": [0, 0]}',
]  # fmt: skip


def test_bad_messages_are_refused_and_the_server_lives(page, running):
    opened(page, running, "pendulum")
    address = running.address("live/pendulum").replace("http", "ws", 1)
    answers = page.evaluate(
        """async ([address, messages]) => {
          const said = [];
          for (const text of messages) said.push(await new Promise((done) => {
            const socket = new WebSocket(address);
            socket.onopen = () => socket.send(text);
            socket.onmessage = (event) => { done(event.data); socket.close(); };
            socket.onclose = () => done("closed");
          }));
          return said;
        }""",
        [address, BAD],
    )
    assert len(answers) >= 20
    assert {json.loads(text)["kind"] for text in answers} == {"refused"}
    with another_run(page):
        page.locator("#parameter-gravity").fill("7")


def test_strangers_and_files_outside_are_refused(running, tmp_path):
    (tmp_path / "secret.py").write_text("raise SystemExit")
    host = f"http://127.0.0.1:{running.port}"
    for path in ("", "/show/pendulum", f"/{running.token[:-1]}x/", "/wrong/static/app.js"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(host + path, timeout=10)
    for path in (f"static/{tmp_path}/secret.py", "static/..%2f..%2fserver.py", f"show/{tmp_path}/secret.py:X",
                 "show/secret.py", "file/1/..%2fsecret.py"):  # fmt: skip
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(running.address(path), timeout=10)


def test_a_point_is_pulled_in_real_time(page, running):
    opened(page, running, "hanging")
    page.click("#pull")
    page.wait_for_selector("html[data-live]", state="attached", timeout=60_000)
    assert "in real time" in facts(page)
    begin = place_of(page)
    box = page.locator("#scene").bounding_box()
    drag(page, begin, (begin[0] + 0.3 * box["width"], begin[1] - 0.2 * box["height"]), release=False)
    page.wait_for_timeout(1500)
    first, second = place_of(page), place_of(page)
    assert np.hypot(*np.subtract(first, begin)) > 20  # drawn away
    assert np.hypot(*np.subtract(first, second)) < 5  # held: it rests
    page.mouse.up()
    page.wait_for_timeout(300)
    moving = [place_of(page) for _ in range(3)]
    assert max(np.hypot(*np.subtract(a, moving[0])) for a in moving) > 5  # let go: it swings
    page.click("#pull")
    page.wait_for_timeout(200)
    assert "steps with h" in facts(page)


def test_what_has_no_points_is_shown_by_its_plots(page, running):
    opened(page, running, "coordinates")
    assert page.is_visible("#no-scene")
    assert page.locator(".curve[data-plot=coordinate]").count() == 1


@pytest.mark.parametrize("width", [390, 1280])
def test_every_width_fits_and_no_text_is_small(page, running, width):
    page.set_viewport_size({"width": width, "height": 720})
    for path in ("", "show/four-bar"):
        page.goto(running.address(path))
        if path:
            page.wait_for_selector("html[data-identity]", state="attached", timeout=60_000)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path or 'start page'}: {wide} px too wide"
        small = page.evaluate(
            """[...document.querySelectorAll('body *')].filter((e) => e.children.length === 0 && e.textContent.trim()
              && e.getClientRects().length && parseFloat(getComputedStyle(e).fontSize) < 12
              && !['SCRIPT', 'STYLE'].includes(e.tagName)).map((e) => e.tagName + ': ' + e.textContent.slice(0, 40))"""
        )
        assert small == []


def test_controls_have_names_for_screen_readers(page, running):
    opened(page, running, "double-pendulum")
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input, select, textarea, canvas')].filter((e) => {
          const label = e.labels?.[0]?.textContent || e.getAttribute('aria-label') || e.textContent;
          return !(label ?? '').trim() && e.tagName !== 'CANVAS';
        }).map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    assert page.get_attribute("#scene", "aria-label")


def test_the_errors_of_two_methods_are_measured(page, running):
    opened(page, running, "pendulum")
    with another_run(page):
        page.select_option("#beside", "gauss-spark-2")
    page.click("#work")
    page.wait_for_selector("html[data-work]", state="attached", timeout=60_000)
    legend = page.inner_text(".curve[data-plot=work]")
    assert "rattle" in legend
    assert "gauss-spark-2" in legend
