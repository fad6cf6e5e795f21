"""Who is let in, what a page is answered, and that bad messages leave the server alive; without a browser."""

import asyncio
import contextlib
import json
import re
from concurrent.futures import Future

import numpy as np
import pytest

import dalembert as da

pytest.importorskip("starlette", reason="the studio is not installed: pip install 'dalembert[studio]'")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from dalembert.studio.pictures import unpacked
from dalembert.studio.server import application, bound_socket, new_token
from dalembert.studio.studio import Studio

PORT, TOKEN = 4321, "a-token"
HOST = f"127.0.0.1:{PORT}"
ORIGIN = {"origin": f"http://{HOST}"}


@pytest.fixture(scope="module")
def studio():
    opened = Studio()
    yield opened
    opened.worker.close()


@pytest.fixture(scope="module")
def client(studio):
    return TestClient(application(studio, TOKEN, PORT), base_url=f"http://{HOST}")


def run(**changes) -> str:
    return json.dumps({"kind": "run", "identity": 1, "parameters": {}, "method": "rattle"} | changes)


def live(client, key="pendulum", headers=ORIGIN, token=TOKEN):
    return client.websocket_connect(f"/{token}/live/{key}", headers={"host": HOST} | headers)


def received(socket):
    """The next picture; words about how far a run is may come before."""
    while not (content := socket.receive()).get("bytes"):
        assert json.loads(content["text"])["kind"] == "progress"
    return unpacked(content["bytes"])


def told(socket) -> dict:
    """The next text that says something else than how far a run is."""
    while (content := json.loads(socket.receive_text()))["kind"] == "progress":
        pass
    return content


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/wrong/", {}),
        (f"/{TOKEN[:-1]}/", {}),
        ("/wrong/show/pendulum", {}),
        ("/wrong/static/app.js", {}),
        ("/wrong/file/1/run.nc", {}),
        (f"//{TOKEN}/", {}),
        (f"/{TOKEN}/", {"host": "example.org"}),
        (f"/{TOKEN}/", {"host": f"example.org:{PORT}"}),
        (f"/{TOKEN}/", {"host": "127.0.0.1:1"}),
        (f"/{TOKEN}/", {"origin": "http://example.org"}),
        (f"/{TOKEN}/", {"origin": "null"}),
    ],
)
def test_requests_of_strangers_are_refused(client, path, headers):
    answer = client.get(path, headers=headers)
    assert answer.status_code == 403
    assert answer.text == "refused\n"


@pytest.mark.parametrize(
    ("token", "headers"),
    [
        ("wrong", ORIGIN),
        (TOKEN, {}),
        (TOKEN, {"origin": "http://example.org"}),
        (TOKEN, {"origin": f"https://{HOST}"}),
        (TOKEN, {"origin": "http://localhost:1"}),
        (TOKEN, ORIGIN | {"host": "example.org"}),
    ],
)
def test_websockets_of_strangers_are_refused(client, token, headers):
    with pytest.raises(WebSocketDisconnect), live(client, headers=headers, token=token):
        pass


def test_pages_load_nothing_from_elsewhere(client):
    for path in ("", "show/pendulum"):
        answer = client.get(f"/{TOKEN}/{path}")
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "no-referrer"
        addresses = re.findall(r'(?:src|href)="([^"]+)"', answer.text)
        assert addresses
        assert all(address.startswith((f"/{TOKEN}/", "data:,")) for address in addresses)
        for address in {a for a in addresses if "/static/" in a}:
            assert client.get(address).status_code == 200


def test_the_start_is_seen_before_anything_is_computed(studio, client):
    header, arrays = unpacked(client.get(f"/{TOKEN}/pose/double-pendulum").content)
    assert header["kind"] == "pose"
    start = da.gallery.DoublePendulum().start().q0
    np.testing.assert_allclose(arrays["points"][0], np.reshape(start, (2, 3)), rtol=1e-6)
    assert header["scene"]["bars"] == [[None, 0], [0, 1]]
    assert client.get(f"/{TOKEN}/pose/model.py:Secret").status_code == 204
    assert client.get("/wrong/pose/pendulum").status_code == 403


def test_a_page_begins_before_the_studio_is_loaded(studio):
    """The head is sent at once, the rest when the studio is there."""

    async def answered() -> list[bytes]:
        opening, parts = Future(), []
        app = application(opening, TOKEN, PORT)

        async def send(message):
            if message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if len(parts) == 1:
                    assert b"modulepreload" in parts[0]
                    opening.set_result(studio)

        async def receive():
            await asyncio.sleep(60)

        scope = {"type": "http", "method": "GET", "path": f"/{TOKEN}/show/pendulum", "raw_path": b"",
                 "query_string": b"", "headers": [(b"host", HOST.encode())], "root_path": "", "http_version": "1.1",
                 "scheme": "http", "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1),
                 "asgi": {"version": "3.0"}}  # fmt: skip
        await asyncio.wait_for(app(scope, receive, send), 30)
        return parts

    parts = asyncio.run(answered())
    assert parts[0].startswith(b"<!doctype html>")
    assert b"<title>Pendulum" in parts[1]


def test_only_files_of_the_page_are_served(client, tmp_path):
    secret = tmp_path / "model.py"
    secret.write_text("secret = 1\n")
    paths = [
        "static/../server.py", "static/%2e%2e/server.py", "static/..%2fserver.py", f"static/{secret}",
        f"static//{secret}", "static/app.py", "file/1/model.py", "file/1/..%2f..%2fmodel.py", "file/0/run.nc",
        "show/..%2fmodel", f"show/{secret}", "show/model.py:Secret",
    ]  # fmt: skip
    for path in paths:
        answer = client.get(f"/{TOKEN}/{path}")
        assert answer.status_code in (403, 404), path
        assert "secret = 1" not in answer.text
    for key in ("model.py:Secret", str(secret), "..%2fmodel.py"):
        with pytest.raises((WebSocketDisconnect, ValueError)), live(client, key):
            pass


def test_a_run_is_answered_and_can_be_downloaded(client, tmp_path):
    with live(client) as socket:
        socket.send_text(run(parameters={"length": 2.0}, h=0.1, t_end=1.0))
        header, arrays = received(socket)
        assert header["kind"] == "run"
        assert np.allclose(arrays["t"], np.arange(11) / 10)
        assert received(socket)[0]["kind"] == "more"
        base = f"/{TOKEN}/file/{header['number']}"
        (tmp_path / "run.nc").write_bytes(client.get(f"{base}/run.nc").content)
        assert len(da.load(tmp_path / "run.nc").t) == 11
        assert "length=2.0" in client.get(f"{base}/run.py").text
        assert client.get(f"{base}/run.html").text.startswith("<!doctype html>")


def test_bad_messages_are_refused_and_the_server_goes_on(client):
    bad = [
        "", "{", "[]", "null", "1", '"run"', "{}", '{"kind": "open"}', run(file="/etc/passwd"), run(identity="1"),
        run(parameters=3), run(parameters={"length": "__import__('os')"}), run(method=None), run(method="m" * 1000),
        run(h=-1), run(h="0.1"), run(q0=[1]), run(q0=[None, 1], v0=[0, 0]), run(drag=[1]),
        run(neighbours={"count": 99}), run(t_end=1e400).replace("Infinity", "1e400"), "\u0000", "[" * 10_000,
        run(beside=[]),
    ]  # fmt: skip
    with live(client) as socket:
        for text in bad:
            socket.send_text(text)
            answer = told(socket)
            assert answer["kind"] == "refused", text
            assert answer["text"]
        socket.send_bytes(b"\x00\x01")
        assert told(socket)["kind"] == "refused"
        # these are understood, and cannot be done
        for text in (run(method="no-method"), run(parameters={"colour": 1}), run(h=1e-12), run(parameters={"mass": 0})):
            socket.send_text(text)
            assert told(socket)["kind"] == "error", text
        socket.send_text(run(h=0.1))
        assert received(socket)[0]["kind"] == "run"


def test_errors_of_a_model_are_shown_as_text(studio, client):
    from dalembert.studio.exhibit import Exhibit, Launch

    class Broken(da.System):
        def lagrangian(self, t, q, v):
            raise RuntimeError("the spring is missing")

    launch = Launch(np.ones(1), np.zeros(1), 0.0, 1.0, 0.1)
    studio._exhibits["broken"] = Exhibit("broken", "Broken", "", Broken(), launch, method="rattle")
    with live(client, "broken") as socket:
        socket.send_text(run())
        answer = told(socket)
        assert answer["kind"] == "error"
        assert "the spring is missing" in answer["text"]


def test_the_socket_belongs_to_this_machine():
    with contextlib.closing(bound_socket()) as first:
        host, port = first.getsockname()
        first.listen()
        assert host == "127.0.0.1"
        with pytest.raises(da.InputError, match=f"port {port} cannot be used"):
            bound_socket(port)
    assert len(new_token()) >= 32
    assert new_token() != new_token()
