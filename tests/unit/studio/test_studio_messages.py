"""What a page may ask for, and what is refused with which words."""

import json

import pytest

import dalembert as da
from dalembert.studio.messages import Drag, Neighbours, PullRequest, RunRequest, parsed

GOOD = {"kind": "run", "identity": 3, "parameters": {"length": 2}, "method": "rattle"}


def text(**changes) -> str:
    return json.dumps(GOOD | changes)


def test_a_run_is_read():
    request = parsed(
        text(
            h=0.1, t_end=2, q0=[1, 0], v0=[0, 0.5], beside="shake", drag={"point": 0, "to": [1, 2]},
            neighbours={"count": 4, "distance": 1e-3},
        )
    )  # fmt: skip
    assert request == RunRequest(
        3,
        {"length": 2.0},
        "rattle",
        0.1,
        2.0,
        (1.0, 0.0),
        (0.0, 0.5),
        "shake",
        Drag(0, (1.0, 2.0)),
        Neighbours(4, 1e-3),
    )
    pulled = parsed(json.dumps({"kind": "pull", "identity": 1, "point": 0, "to": [0, 1]}))
    assert pulled == PullRequest(1, 0, (0.0, 1.0), False)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (b"bytes", "expected a text message"),
        ("", "not JSON"),
        ("[1, 2]", "expected a JSON object"),
        ("[" * 100_000, "not JSON"),
        ("x" * 1_000_001, "at most 1,000,000"),
        (text(kind="open"), 'kind must be "run" or "pull"'),
        (text(file="/etc/passwd"), "no entry 'file'"),
        (text(identity=-1), "identity must be a whole number"),
        (text(identity=True), "identity must be a whole number"),
        (text(parameters=[1]), "parameters must be an object"),
        (text(parameters={"length": "2"}), "parameter length must be a finite number"),
        (text(parameters={"length": True}), "parameter length must be a finite number"),
        (json.dumps(GOOD).replace("2", "NaN"), "NaN is no number in JSON"),
        (json.dumps(GOOD).replace("2", "1e999"), "parameter length must be a finite number"),
        (text(method=7), "method must be a name"),
        (text(method="m" * 81), "method must be a name"),
        (text(h=0), "h must be greater than 0"),
        (text(q0=[1.0]), "give q0 and v0, or neither"),
        (text(q0=[], v0=[]), "q0 must be a list of 1 to"),
        (text(q0=[[1]], v0=[[1]]), r"q0\[0\] must be a finite number"),
        (text(drag={"point": 0}), "drag must be an object"),
        (text(drag={"point": 0, "to": [1]}), "to must have 2 or 3 coordinates"),
        (text(neighbours={"count": 1000, "distance": 1}), "count must be a whole number from 1 to 32"),
        (json.dumps({"kind": "pull", "identity": 1, "point": 0}), "needs the place"),
    ],
)
def test_what_is_refused(message, words):
    with pytest.raises(da.InputError, match=words):
        parsed(message)
