"""`dalembert studio`: the local page on which a system is seen, turned and changed.

What is sure to open, the gallery, is served at once, and the library is loaded while the browser loads the page. Files
are opened first: what is wrong with them is said before a page appears.
"""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from . import show
from .options import Q0, V0, Parameters, StepSize, TEnd

if TYPE_CHECKING:
    from ..studio.exhibit import Exhibit
    from ..studio.studio import Studio

TARGET_HELP = (
    "A name of the gallery, path/to/model.py:Class, a run (.nc), or a model (.xml, .urdf); the gallery by default. "
    "A model file in Python is executed with your rights. Open only files you trust."
)


def studio_command(
    target: Annotated[
        str | None, typer.Argument(metavar="[NAME|FILE.py:CLASS|RUN.nc|MODEL.xml]", help=TARGET_HELP)
    ] = None,
    method: Annotated[str | None, typer.Option("--method", "-m", help="The method to begin with.")] = None,
    h: StepSize = None,
    t_end: TEnd = None,
    q0: Q0 = None,
    v0: V0 = None,
    param: Parameters = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    as_json: show.Json = False,
) -> None:
    """Open a page in the browser, on this machine only, where systems are seen, turned and changed."""
    try:
        from ..studio import server
    except ImportError as error:
        raise InputError(
            f"the studio needs {error.name}, which is not installed: pip install 'dalembert[studio]'"
        ) from error
    from ..studio.assets import thumbnails

    given = {"--q0": q0, "--v0": v0, "--h": h, "--t-end": t_end, "--param": param, "--method": method}
    used = [name for name, value in given.items() if value]
    if target is None and used:
        raise InputError(f"{used[0]} belongs to a system: name one, for example dalembert studio pendulum.")

    def exhibits() -> list[Exhibit]:
        from .opening import opened_exhibit

        return [] if target is None else [opened_exhibit(target, method, h, t_end, q0, v0, param or [])]

    listening, token = server.bound_socket(port), server.new_token()
    with ThreadPoolExecutor(1, "loading") as threads:
        name = (target or "").lower()
        if not used and (not name or name in thumbnails()):
            studio = threads.submit(_studio, exhibits)
        else:  # in this thread: programs of the user may expect to be run there
            studio = _studio(exhibits)
            name = studio.opened[0].key
        address = f"http://{server.HOST}:{listening.getsockname()[1]}/{token}/" + (f"show/{name}" if name else "")
        _tell(address, as_json)
        if browser:
            webbrowser.open(address)
        server.serve(studio, token, listening)


def _studio(exhibits: Callable[[], list[Exhibit]]) -> Studio:
    """The studio with these exhibits, the first of which it begins to compute."""
    from ..studio import pages  # pyright: ignore[reportUnusedImport] # noqa: F401 - loaded here, not by the server
    from ..studio.studio import Studio

    studio = Studio(exhibits())
    if studio.opened:
        studio.warm_up(studio.opened[0])
    return studio


def _tell(address: str, as_json: bool) -> None:
    if as_json:
        show.print_json({"address": address})
    console = show.console(quiet=as_json)
    console.print(f"studio   {address}", soft_wrap=True)
    console.print("Whoever has this address can use the studio. Ctrl-C ends it.", soft_wrap=True)
