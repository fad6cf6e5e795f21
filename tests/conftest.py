"""Settings shared by all tests: double precision, no implicit promotion, no display, a cache of their own."""

import contextlib
import gc
import os
import shutil
import tempfile

import jax
import matplotlib
import pytest

from dalembert.engine.tuning import tuned

CACHE_VARIABLE = "DALEMBERT_CACHE_DIR"
SESSION_CACHE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_dtype_promotion", "strict")

    # Most of XLA's time goes into code that runs once, which need not be optimised; two workers on two cores want no
    # threads beside their own (numpy reads these when the workers import it).
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(threads, "1")

    os.environ["MPLBACKEND"] = "Agg"  # for the programs that tests start
    matplotlib.use("Agg")

    # The workers of xdist inherit the variable from the process that starts them, and so share its folder.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.stash[SESSION_CACHE] = tempfile.mkdtemp(prefix="dalembert-test-cache-")
        os.environ[CACHE_VARIABLE] = config.stash[SESSION_CACHE]


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(SESSION_CACHE, None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


#: Linux lets a process have 65530 mappings of memory, three of which each piece of XLA's code takes; the next one
#: crashes the compiler.
MOST_MAPPINGS = 30_000


@pytest.fixture(autouse=True)
def few_mappings():
    """Forget compiled code before there is too much of it; long runs of tests compile thousands of functions."""
    yield
    try:
        with open("/proc/self/maps", "rb") as maps:
            mappings = sum(1 for _ in maps)
    except OSError:
        return
    if mappings > MOST_MAPPINGS:
        jax.clear_caches()
        gc.collect()


@pytest.fixture
def tune():
    """`tune(rolled_from=0)`: other numbers of the engine's tuning until the end of the test."""
    with contextlib.ExitStack() as changed:
        yield lambda **changes: changed.enter_context(tuned(**changes))
