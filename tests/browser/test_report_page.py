"""The report in a real browser: `make test-browser`."""

import contextlib
import io
import pathlib
import urllib.parse

import pytest
from PIL import Image, ImageStat

pytestmark = pytest.mark.long

CHECKS = (pathlib.Path(__file__).parent / "page_checks.js").read_text(encoding="utf-8")
PHONE, DESKTOP = {"width": 400, "height": 800}, {"width": 1280, "height": 900}
#: What the guidelines for accessible web pages ask for.
CONTRAST = 4.5


@contextlib.contextmanager
def opened(browser, index, size=DESKTOP, **options):
    """The page, and at the end the certainty that nothing went wrong in it."""
    troubles = []
    context = browser.new_context(viewport=size, **options)
    page = context.new_page()
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("requestfailed", lambda request: troubles.append(request.url))
    page.on("request", lambda request: troubles.append(request.url) if request.url.startswith("http") else None)
    page.goto(index.as_uri())
    page.wait_for_function("document.readyState === 'complete'")
    yield page
    context.close()
    assert troubles == []


def measure(page, name: str, *arguments):
    values = ", ".join(map(str, arguments))
    return page.evaluate(f"({CHECKS}).{name}({values})")


def test_it_loads_and_every_picture_is_there(browser, index):
    with opened(browser, index) as page:
        count = page.evaluate("document.querySelectorAll('svg.figure, img.figure').length")
        assert count == page.evaluate("document.querySelectorAll('section.experiment').length") > 0
        for figure in page.query_selector_all("figure"):
            figure.scroll_into_view_if_needed()
        assert measure(page, "brokenImages") == []
        assert measure(page, "emptyDrawings") == []
        assert measure(page, "blankCanvases") == []
        assert measure(page, "repeatedIds") == []


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_nothing_is_wider_than_the_screen(browser, index, size):
    with opened(browser, index, size) as page:
        assert measure(page, "overflowing") == []
        page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        assert measure(page, "overflowing") == []


def test_links_lead_somewhere(browser, index):
    with opened(browser, index) as page:
        assert measure(page, "deadAnchors") == []
        addresses = measure(page, "files")
        assert len(addresses) > 10
        for address in addresses:
            parts = urllib.parse.urlsplit(address)
            assert parts.scheme == "file", address
            assert pathlib.Path(urllib.parse.unquote(parts.path)).is_file(), address


def test_the_table_of_claims_leads_to_the_sections(browser, index):
    with opened(browser, index, reduced_motion="reduce") as page:
        assert page.locator("table.claims").bounding_box()["y"] < 2 * DESKTOP["height"]
        names = page.locator("table.claims td a").all_inner_texts()
        assert names == page.evaluate("[...document.querySelectorAll('section.experiment')].map((e) => e.id)")
        page.locator("table.claims td a").last.click()
        top = page.evaluate("document.querySelector(':target').getBoundingClientRect().top")
        assert -1 <= top < DESKTOP["height"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(browser, index, scheme):
    with opened(browser, index, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        assert measure(page, "faintText", CONTRAST) == []
        for figure in page.query_selector_all("svg.figure")[:3]:
            with Image.open(io.BytesIO(figure.screenshot())) as picture:
                grey = picture.convert("L")
                brightness = ImageStat.Stat(grey).mean[0]
                low, high = grey.getextrema()
            assert high - low > 150  # letters stand out
            assert brightness < 90 if scheme == "dark" else brightness > 165


def test_mathematics_is_set(browser, index):
    with opened(browser, index) as page:
        found = measure(page, "formulas")
        assert found.pop("count") > 20
        assert found == {"raised": True, "italic": True, "serif": True}
        assert measure(page, "rawMathematics") == []


# -- what moves and what can be zoomed: the same scripts in every report ------------------------------------------


def curve_box(page, experiment: str):
    """Where the first panel of a figure is on the screen."""
    surface = page.locator(f"#{experiment.replace('.', chr(92) + '.')} .zoom-surface").first
    surface.scroll_into_view_if_needed()
    return surface, surface.bounding_box()


def zoom_of(page, experiment: str) -> list[float]:
    """The magnification of the curves of every panel, in x."""
    return page.evaluate(
        """(id) => [...document.getElementById(id).querySelectorAll('.zoom-surface')].map((surface) => {
            const curve = surface.parentElement.querySelector('.zoom-content');
            return curve.transform.baseVal.numberOfItems ? curve.transform.baseVal.getItem(0).matrix.a : 1;
        })""",
        experiment,
    )


def test_zoom_by_keys_and_buttons(browser, small_report):
    with opened(browser, small_report) as page:
        surface, _ = curve_box(page, "jay-fig-8.1")
        section = page.locator("#jay-fig-8\\.1")
        assert section.get_by_role("button", name="show all").is_disabled()
        surface.focus()
        page.keyboard.press("+")
        assert zoom_of(page, "jay-fig-8.1") == pytest.approx([1.6] * 3)  # the panels share the time axis
        section.get_by_role("button", name="zoom in").click()
        assert zoom_of(page, "jay-fig-8.1") == pytest.approx([1.6**2] * 3)
        assert section.locator(".zoom-ticks text").count() > 4
        surface.focus()
        page.keyboard.press("0")
        assert zoom_of(page, "jay-fig-8.1") == pytest.approx([1.0] * 3)
        assert section.locator(".zoom-ticks text").count() == 0


def test_zoom_by_mouse(browser, small_report):
    with opened(browser, small_report) as page:
        surface, box = curve_box(page, "wenger-fig-5")
        page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4)
        before = page.evaluate("scrollY")
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        page.mouse.up()
        scale, *others = zoom_of(page, "wenger-fig-5")
        assert others == [1.0] * len(others)
        assert scale == pytest.approx(4.0, rel=0.05)
        page.mouse.wheel(0, -100)
        page.wait_for_timeout(100)
        assert zoom_of(page, "wenger-fig-5")[0] > 1.1 * scale
        assert page.evaluate("scrollY") == before
        surface.dblclick()
        assert zoom_of(page, "wenger-fig-5") == pytest.approx([1.0] * (1 + len(others)))
        page.keyboard.press("Escape")
        page.mouse.wheel(0, 200)  # the wheel belongs to the page again
        page.wait_for_timeout(300)
        assert page.evaluate("scrollY") > before
        assert zoom_of(page, "wenger-fig-5") == pytest.approx([1.0] * (1 + len(others)))


def test_zoom_by_fingers(browser, small_report):
    with opened(browser, small_report, PHONE, has_touch=True, is_mobile=True) as page:
        surface, _ = curve_box(page, "wenger-fig-5")
        surface.tap()  # before it, fingers scroll the page
        box = surface.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        hand = page.context.new_cdp_session(page)

        def touch(kind: str, *offsets: float) -> None:
            points = [{"x": x + offset, "y": y + offset / 2, "id": k} for k, offset in enumerate(offsets)]
            hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", -20, 20)
        for apart in (25, 30, 40, 50, 60):
            touch("touchMove", -apart, apart)
        touch("touchEnd")
        page.wait_for_timeout(100)
        assert zoom_of(page, "wenger-fig-5")[0] > 1.5


def test_new_ticks_are_where_the_curve_says(browser, small_report):
    """A tick of the zoomed axis stands where the old axis has the same number."""
    with opened(browser, small_report) as page:
        surface, _ = curve_box(page, "jay-fig-8.1")
        surface.focus()
        page.keyboard.press("+")
        found = page.evaluate(
            """() => {
                const figure = document.getElementById('jay-fig-8.1').querySelector('figure');
                const panels = JSON.parse(figure.querySelector('script').textContent), last = panels.at(-1);
                const group = document.getElementById(last.id), [left, top, width, height] = last.box;
                const curve = group.querySelector('.zoom-content').transform.baseVal.getItem(0).matrix;
                return [...group.querySelectorAll('.zoom-ticks text[text-anchor=middle]')].map((text) => {
                    const place = left + width * (Number(text.textContent) - last.x.low) / (last.x.high - last.x.low);
                    return curve.a * place + curve.e - text.x.baseVal[0].value;
                });
            }"""
        )
        assert len(found) >= 3
        assert found == pytest.approx([0.0] * len(found), abs=1e-3)


def test_motions_play_and_stop(browser, small_report):
    with opened(browser, small_report) as page:
        figure = page.locator("figure.motion").first
        figure.scroll_into_view_if_needed()
        clock, button = figure.locator("output"), figure.locator("button")
        first = clock.inner_text()
        page.wait_for_timeout(800)
        assert clock.inner_text() != first
        button.click()
        stopped = clock.inner_text()
        page.wait_for_timeout(300)
        assert clock.inner_text() == stopped
        assert button.inner_text() == "Play"
        figure.locator("input").fill("0")
        assert clock.inner_text() == "t = 0.0"


def test_who_wants_no_motion_gets_none(browser, small_report):
    with opened(browser, small_report, reduced_motion="reduce") as page:
        figure = page.locator("figure.motion").first
        figure.scroll_into_view_if_needed()
        first = figure.locator("output").inner_text()
        page.wait_for_timeout(500)
        assert figure.locator("output").inner_text() == first
