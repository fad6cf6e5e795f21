"""Every page of the built documentation in a real browser, as files and without a network: `make test-browser`."""

import os
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Loads the pictures that are further down.
LOAD = "Promise.all([...document.images].map((i) => { i.loading = 'eager'; return i.decode().catch(() => 0); }))"
PAGES = sorted(str(path.relative_to(ROOT / "docs").with_suffix(".html")) for path in (ROOT / "docs").rglob("*.md"))
WIDTHS = (390, 1400)
#: What is measured inside a page.
LOOK = """() => {
  const wide = document.documentElement.scrollWidth > innerWidth;
  const inner = (e) => { for (let p = e.parentElement; p; p = p.parentElement)
    if (/(auto|scroll|hidden)/.test(getComputedStyle(p).overflowX)) return true; return false; };
  return {
    culprits: wide ? [...document.querySelectorAll('main *')]
      .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !inner(e))
      .slice(0, 5).map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 60)}`) : [],
    wide: document.documentElement.scrollWidth - innerWidth,
    formulas: document.querySelectorAll('.arithmatex').length,
    rendered: document.querySelectorAll('.arithmatex .katex').length,
    wrong: [...document.querySelectorAll('.katex-error')].map((e) => e.textContent),
    broken: [...document.images].filter((i) => i.complete && i.naturalWidth === 0).map((i) => i.src),
    raw: [...document.querySelectorAll('article p, article li, article td')].filter((e) => !e.querySelector('.katex'))
      .flatMap((e) => e.textContent.match(/.{0,20}(\\$\\$|\\\\(frac|tfrac|begin|lambda|dot)\\b).{0,20}/g) ?? []),
    anchors: [...document.querySelectorAll("article a[href^='#']")]
      .filter((a) => !document.getElementById(decodeURIComponent(a.hash.slice(1)))).map((a) => a.hash),
  };
}"""


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> pathlib.Path:
    """The built pages: those in $DALEMBERT_SITE, or built here."""
    if "DALEMBERT_SITE" in os.environ:
        return pathlib.Path(os.environ["DALEMBERT_SITE"])
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def opened(browser, path: pathlib.Path, width: int):
    """A page with the network blocked, and the list of what went wrong in it."""
    troubles: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_offline(True)
    page = context.new_page()
    page.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("requestfailed", lambda request: troubles.append(request.url))
    page.on("request", lambda request: troubles.append(request.url) if request.url.startswith("http") else None)
    page.goto(path.as_uri(), wait_until="load")
    return page, troubles


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_page(browser, site, name, width):
    page, troubles = opened(browser, site / name, width)
    page.evaluate("document.fonts.ready")
    page.evaluate(LOAD)
    found = page.evaluate(LOOK)
    page.context.close()
    assert troubles == []
    assert found["rendered"] >= found["formulas"]
    assert found.pop("formulas") >= 0
    assert found["wide"] <= 0, found["culprits"]
    assert found["wrong"] == found["broken"] == found["anchors"] == found["raw"] == []


def test_there_are_formulas(browser, site):
    page, _ = opened(browser, site / "methods.html", 1400)
    assert page.locator(".katex").count() > 20
    assert page.evaluate("document.fonts.check('16px KaTeX_Main')")
    page.context.close()


#: What a reader may type, and a page that must then be among the first five found.
SEARCHES = {
    "symplectic": "glossary",
    "hidden constraint": "starting_values",
    "rolling without slipping": "rolling",
    "checkpoint_every": "checkpoints",
    "URDF": "multibody",
    "bouncing ball": "impacts",
    "redundant": "starting_values",
    "lyapunov": "derivatives",
    "Painlevé": "failures",
    "work_precision": "api",
    "da.simulate": "api",
    "lqr": "control",
}


@pytest.mark.parametrize(("words", "page_name"), SEARCHES.items(), ids=SEARCHES)
def test_the_search_works_from_files(browser, site, words, page_name):
    page, troubles = opened(browser, site / "index.html", 1400)
    page.locator(".md-search__input").click()
    page.keyboard.type(words)
    page.locator(".md-search-result__item").first.wait_for(timeout=20_000)
    links = page.locator(".md-search-result__item").evaluate_all("all => all.map((x) => x.querySelector('a').href)")
    page.context.close()
    assert troubles == []
    first = [link.split("/")[-1].split("?")[0].split("#")[0] for link in links[:5]]
    assert f"{page_name}.html" in first


def test_a_search_for_a_word_that_is_on_no_page_finds_none(browser, site):
    page, _ = opened(browser, site / "index.html", 1400)
    page.locator(".md-search__input").click()
    page.keyboard.type("zzyzx")
    page.locator(".md-search-result__meta", has_text="No matching documents").wait_for(timeout=20_000)
    assert page.locator(".md-search-result__item").count() == 0
    page.context.close()
