"""Every option of `simulate` on every path: honoured, or refused with a reason; none is ignored."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.engine.runners import choice
from dalembert.gallery import BouncingBall

H = 0.05


class Oscillator(da.System):
    def lagrangian(self, t, q, v):
        return 0.5 * (v @ v) - 0.5 * (q @ q)


PATHS = {
    "single": (Oscillator(), da.Rattle(), [1.0], [0.0], H),
    "events": (BouncingBall(), da.EventCapturing(da.half_explicit(2)), [1.0], [0.0], H),
    "event members": (BouncingBall(), da.EventCapturing(da.half_explicit(2)), [[1.0], [0.5]], [[0.0], [0.0]], H),
    "sizes": (Oscillator(), da.Rattle(), [1.0], [0.0], [H, 2 * H, H]),
    "adaptive": (BouncingBall(), da.MoreauJean(), [1.0], [0.0], da.Adaptive(1e-2, 1e-2, H, H)),
    "batch": (Oscillator(), da.Rattle(), [[1.0], [2.0]], [[0.0], [0.0]], H),
}
#: Which options a path refuses, with a word of the reason.
REFUSED = {
    ("events", "engine", "cuda"): "every member has its own events",
    ("events", "precision", "extended"): "event capturing is computed in double precision",
    ("events", "compensated", False): "compensated has no meaning",
    ("events", "compensated", True): "compensated has no meaning",
    ("event members", "progress", True): "in one call",
    ("event members", "compensated", False): "compensated has no meaning",
    ("event members", "precision", "extended"): "event capturing is computed in double precision",
    ("event members", "engine", "cuda"): "every member has its own events",
    ("event members", "retry", True): "one step size",
    ("single", "engine", "cuda"): "for batches",
    ("sizes", "engine", "cuda"): "for batches",
    ("adaptive", "engine", "cuda"): "for batches",
    ("batch", "engine", "xla"): "native engine",
    ("batch", "precision", "extended"): "double precision",
    ("batch", "progress", True): "in one call",
    ("batch", "retry", True): "single run",
    ("events", "retry", True): "one step size",
    ("sizes", "retry", True): "one step size",
    ("adaptive", "retry", True): "one step size",
}
OPTIONS = [
    ("engine", "native"), ("engine", "xla"), ("engine", "cuda"), ("precision", "extended"), ("compensated", False),
    ("progress", True), ("retry", True),
]  # fmt: skip


def run_of(path, **options):
    system, method, q0, v0, h = PATHS[path]
    return da.simulate(system, method, q0, v0, t=(0.0, 4 * H), h=h, **options)


@pytest.mark.parametrize(("path", "option", "value"), list(REFUSED))
def test_what_a_path_cannot_do_is_refused(path, option, value):
    with pytest.raises(da.InputError, match=REFUSED[path, option, value]):
        run_of(path, **{option: value})


@pytest.mark.parametrize("engine", ["auto", "xla"])
def test_event_capturing_compiles_no_step_where_xla_is_asked_for(engine):
    system, method, q0, v0, _ = PATHS["events"]
    run = da.simulate(system, method, q0, v0, t=(0.0, 0.4), h=0.001, engine=engine)
    assert (run.stats["compiled_steps"] > 0) == (engine == "auto")
    assert run.stats["engine"].startswith("native" if engine == "auto" else "xla")


@pytest.mark.parametrize(
    ("path", "option", "value"),
    [(path, *option) for path in PATHS for option in OPTIONS if (path, *option) not in REFUSED and option[1] != "cuda"],
)
def test_what_a_path_does_not_refuse_it_honours(path, option, value):
    run = run_of(path, **{option: value})
    assert np.all(np.isfinite(run.q))
    if option == "engine":
        assert run.stats["engine"].startswith(value)
    if option == "precision":
        assert run.q.dtype == np.longdouble


@pytest.mark.parametrize("options", [{"engine": "cuda"}, {"precision": "extended"}, {"progress": True}])
def test_a_traced_run_refuses_what_jax_cannot_do(options):
    def end(x):
        return da.simulate(
            Oscillator(), da.Rattle(), jnp.stack([x]), [0.0], t=(0.0, 4 * H), h=H, **options
        ).q[-1, 0]  # fmt: skip

    with pytest.raises(da.InputError, match="one expression of JAX"):
        jax.jit(end)(1.0)


def test_the_native_engine_is_not_replaced_by_another_one(monkeypatch):
    monkeypatch.setattr(choice, "_native", lambda *arguments: (choice.TooLarge("too large", None), None))
    with pytest.raises(da.InputError, match="the native engine cannot compile this system: too large"):
        run_of("single", engine="native")
