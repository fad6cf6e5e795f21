"""The digest of the bytes of a run; as a program, those of the runs that it is given as JSON, one a line."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import dalembert as da
from dalembert.method.catalogue import method_named


def digest(system_name: str, method_name: str, options: dict[str, Any]) -> str:
    """Of t, q, v and p of a system of the gallery from its own start."""
    system = da.gallery.system_named(system_name)()
    start = system.start()
    run = da.simulate(system, method_named(method_name), start.q0, start.v0, **options)
    return hashlib.blake2b(b"".join(part.tobytes() for part in (run.t, run.q, run.v, run.p))).hexdigest()


if __name__ == "__main__":
    for case in json.loads(sys.argv[1]):
        print(digest(*case))
