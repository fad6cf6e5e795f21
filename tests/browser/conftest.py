"""A headless Chromium and reports to look at. Without a browser the tests here are skipped and say why; `make
test-browser`, which is asked for them, sets DALEMBERT_BROWSER=required, and they fail."""

import os
import pathlib
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: Fast ones: panels with a common axis, logarithmic axes, axes in space, dots as pixels.
EXPERIMENTS = ("gonzalez-fig-2", "jay-fig-8.1", "jay-fig-8.2", "wenger-fig-2", "wenger-fig-3", "wenger-fig-5")


@pytest.fixture(scope="session")
def browser():
    missing = pytest.fail if os.environ.get("DALEMBERT_BROWSER") == "required" else pytest.skip
    try:
        from playwright import sync_api as playwright
    except ImportError:
        missing("playwright is not installed: make test-browser")
    program = os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        missing("no Chromium found: install it (Debian: apt-get install chromium) or name it in $CHROMIUM")
    with playwright.sync_playwright() as driver:
        # in containers there is no sandbox, and the pages are our own; without a GPU, WebGL is drawn by the processor
        running = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--enable-unsafe-swiftshader"])
        yield running
        running.close()


@pytest.fixture(scope="session")
def small_report(tmp_path_factory) -> pathlib.Path:
    """The page of some experiments, computed for these tests."""
    from dalembert.report import reproduce

    result = reproduce(EXPERIMENTS, tmp_path_factory.mktemp("small") / "report", jobs=2)
    assert result.failures == []
    return result.index


@pytest.fixture(scope="session", params=["small", "whole"])
def index(request) -> pathlib.Path:
    """The page of some experiments, and that of `make run` where it has been made."""
    if request.param == "small":
        return request.getfixturevalue("small_report")
    whole = pathlib.Path(os.environ.get("DALEMBERT_REPORT", ROOT / "report")) / "index.html"
    if not whole.is_file():
        pytest.skip(f"{whole} does not exist: make run, or name a report in $DALEMBERT_REPORT")
    return whole
