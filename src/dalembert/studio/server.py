"""The studio as a server on this machine: every address begins with a token, everything else is refused.

What the guard wants of a request: the Host of this server (so that no name of a stranger leads here), the token at the
beginning of the path, and, where the browser says from which page it comes, that the page is one of ours. Pages may
load nothing from elsewhere: their Content-Security-Policy says so.

The server answers before the studio is loaded, which takes longer than everything else before the first picture: the
beginning of a page is sent at once, and while the browser loads what it names, the rest is found out.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..errors import DalembertError, InputError
from .assets import head, served, text_of, thumbnails

if TYPE_CHECKING:
    from .studio import Studio

HOST = "127.0.0.1"
#: Names under which the browser may know this machine.
OWN_NAMES = (HOST, "localhost")
#: A page that sends so many messages that mean nothing is not one of ours.
MOST_REFUSED = 100
#: Bytes of a message of a page; longer ones end the connection.
MOST_BYTES = 4_000_000


def new_token() -> str:
    """A word that nobody guesses."""
    return secrets.token_urlsafe(24)


def bound_socket(port: int = 0) -> socket.socket:
    """A socket of this machine only; port 0 takes a free one."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # a browser that is quicker than the server waits
    except OSError as error:
        listening.close()
        reason = error.strerror or str(error)
        raise InputError(f"port {port} cannot be used: {reason}. Leave --port out for a free one.") from None
    return listening


def application(studio: Studio | Future[Studio], token: str, port: int) -> ASGIApp:
    """The server of a studio, which may still be loaded in a thread."""
    pages = _Pages(studio, f"/{token}")
    routes = [
        Route(f"/{token}/", pages.start),
        Route(f"/{token}/show/{{key}}", pages.show),
        Route(f"/{token}/pose/{{key}}", pages.pose),
        Route(f"/{token}/static/{{name:path}}", pages.static),
        Route(f"/{token}/file/{{number:int}}/{{name}}", pages.file),
        WebSocketRoute(f"/{token}/live/{{key}}", pages.live),
    ]
    return Guard(Starlette(routes=routes), token, port)


class Guard:
    """Refuses what does not come from a page of this studio."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in OWN_NAMES}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        if self._reason(scope) is None:
            return await self._app(scope, receive, send)
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
            return None
        # the same words for every reason: nothing is told to those who have no token
        return await PlainTextResponse("refused\n", 403)(scope, receive, send)

    def _reason(self, scope: Scope) -> str | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host, origin = headers.get(b"host", b"").decode("latin-1"), headers.get(b"origin")
        if host not in self._hosts:
            return "host"
        if not hmac.compare_digest(scope["path"].split("/")[1].encode(), self._token.encode()):
            return "token"
        if origin is None:
            return "origin" if scope["type"] == "websocket" else None
        return None if origin.decode("latin-1") == f"http://{host}" else "origin"


class _Pages:
    """What is behind each address."""

    def __init__(self, studio: Studio | Future[Studio], base: str) -> None:
        self._studio, self._base = studio, base

    async def studio(self) -> Studio:
        """The studio, as soon as it is loaded."""
        return await asyncio.wrap_future(self._studio) if isinstance(self._studio, Future) else self._studio

    async def start(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)

        async def parts() -> AsyncIterator[str]:
            yield head(self._base, nonce, "studio/start")
            studio = await self.studio()
            from .pages import start_page  # which the studio has loaded

            yield start_page(self._base, nonce, studio.opened)

        return _page(parts(), nonce, request)

    async def show(self, request: Request) -> Response:
        nonce, key = secrets.token_urlsafe(16), request.path_params["key"]
        if key not in thumbnails():  # a system of the gallery can be shown for certain
            try:
                await run_in_threadpool((await self.studio()).exhibit, key)
            except DalembertError as reason:
                return _text(str(reason), 404)

        async def parts() -> AsyncIterator[str]:
            yield head(self._base, nonce, "studio/app")
            studio = await self.studio()
            from .pages import exhibit_page

            yield await run_in_threadpool(lambda: exhibit_page(self._base, nonce, studio.exhibit(key)))

        return _page(parts(), nonce, request)

    async def static(self, request: Request) -> Response:
        name = request.path_params["name"]
        kind = served().get(name)
        if kind is None:
            return _text("there is no such file.", 404)
        return Response(text_of(name), media_type=kind, headers=_headers() | {"Cache-Control": "private, max-age=3600"})

    async def pose(self, request: Request) -> Response:
        """The scene at the start, for which nothing is computed."""
        studio = await self.studio()
        try:
            exhibit = await run_in_threadpool(studio.exhibit, request.path_params["key"])
            content = await run_in_threadpool(studio.pose, exhibit)
        except Exception:  # what is wrong with a model, the run says
            return Response(status_code=204, headers=_headers())
        return Response(content, media_type="application/octet-stream", headers=_headers())

    async def file(self, request: Request) -> Response:
        number, name = request.path_params["number"], request.path_params["name"]
        try:
            studio = await self.studio()
            content = await run_in_threadpool(studio.file, number, name)
        except DalembertError as reason:
            return _text(str(reason), 404)
        headers = _headers() | {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type=studio.file_types[name], headers=headers)

    async def live(self, socket: WebSocket) -> None:
        studio = await self.studio()
        try:
            exhibit = await run_in_threadpool(studio.exhibit, socket.path_params["key"])
        except DalembertError:
            await socket.close(1008)
            return
        from .messages import parsed

        await socket.accept()
        outbox, owner = Outbox(asyncio.get_running_loop()), object()
        sender = asyncio.create_task(outbox.deliver(socket))
        refused = 0
        try:
            while refused < MOST_REFUSED:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                try:
                    request = parsed(message.get("text"))
                except InputError as reason:
                    refused += 1
                    outbox.put_soon(f"refused {refused}", {"kind": "refused", "text": str(reason)})
                    continue
                studio.answer(owner, exhibit, request, outbox.put)
        except WebSocketDisconnect:
            pass
        finally:
            studio.forget(owner)
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError, RuntimeError, WebSocketDisconnect):
                await sender
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):  # where the page is gone already
                await socket.close()


class Outbox:
    """Messages for one page; a newer one takes the place of an older one of its kind that was not sent yet."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._messages, self._filled = loop, {}, asyncio.Event()

    def put(self, kind: str, message: Any) -> None:
        """From the thread that computes."""
        with contextlib.suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self.put_soon, kind, message)

    def put_soon(self, kind: str, message: Any) -> None:
        """From the server's own thread."""
        if kind in ("run", "error"):  # what belongs to an older run is of no use any more
            for other in ("progress", "run", "more", "work", "error"):
                self._messages.pop(other, None)
        self._messages.pop(kind, None)
        self._messages[kind] = message
        self._filled.set()

    async def deliver(self, socket: WebSocket) -> None:
        """Send what comes, until cancelled."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            while self._messages:
                message = self._messages.pop(next(iter(self._messages)))
                if isinstance(message, bytes):
                    await socket.send_bytes(message)
                else:
                    await socket.send_text(json.dumps(message, ensure_ascii=True))


def serve(studio: Studio | Future[Studio], token: str, listening: socket.socket) -> None:
    """Answer until Ctrl-C, or until it turns out that the studio cannot be loaded."""
    import uvicorn

    app = application(studio, token, listening.getsockname()[1])
    config = uvicorn.Config(
        app, log_level="warning", ws_max_size=MOST_BYTES, lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)

    def loaded(future: Future[Studio]) -> None:
        server.should_exit = server.should_exit or future.exception() is not None

    if isinstance(studio, Future):
        studio.add_done_callback(loaded)
    try:
        server.run(sockets=[listening])
    finally:
        (studio.result() if isinstance(studio, Future) else studio).worker.close()


def _page(parts: AsyncIterator[str], nonce: str, request: Request) -> Response:
    host = request.headers["host"]
    policy = (
        f"default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self'; img-src 'self' data: blob:; "
        f"connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = _headers() | {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return StreamingResponse(parts, media_type="text/html", headers=headers)


def _text(text: str, status: int) -> Response:
    return PlainTextResponse(text + "\n", status, headers=_headers())


def _headers() -> dict[str, str]:
    return {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
