"""The native engine and XLA give one trajectory, for every method on every system of the gallery."""

import numpy as np
import pytest

import dalembert as da
from dalembert.gallery import GALLERY
from dalembert.method import CATALOGUE

#: the others compile for too long in XLA
FAST = {("rattle", "polar-pendulum"), ("shake", "pendulum"), ("lobatto-spark-3", "pendulum")}
CASES = [
    pytest.param(method, system, marks=[] if (method, system) in FAST else pytest.mark.long)
    for method, entry in CATALOGUE.items()
    for system, kind in GALLERY.items()
    if all(part in entry.method.handles for part in kind().parts)
]


@pytest.mark.usefixtures("quick_xla")
@pytest.mark.parametrize(("method", "name"), CASES)
def test_native_and_xla_agree_to_roundoff(method, name):
    system = GALLERY[name]()
    start = system.start()
    runs = [
        da.simulate(
            system, CATALOGUE[method].method, start.q0, start.v0, t=(0.0, 50 * start.h), h=start.h, engine=engine
        )
        for engine in ("native", "xla")
    ]
    native, xla = runs
    assert [run.stats["engine"] for run in runs] == ["native", "xla"]
    for part, tolerance in (("q", 1e-12), ("p", 1e-10), ("v", 1e-10)):
        one, other = getattr(native, part), getattr(xla, part)
        assert np.max(np.abs(one - other)) <= tolerance * max(1.0, np.max(np.abs(other)))
    assert np.max(native.constraint) <= 1e-13 * max(1.0, np.max(np.abs(native.q))) ** 2
