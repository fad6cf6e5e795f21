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
QUICK_XLA = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
)
TESTS_SINCE_COUNT = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_dtype_promotion", "strict")

    # Most of XLA's time goes into code that runs once, which need not be optimised: the older emitters take a third of
    # the time of those that fuse. Two workers on two cores want no threads beside their own (numpy reads these when the
    # workers import it).
    os.environ.setdefault("XLA_FLAGS", " ".join(QUICK_XLA))
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(threads, "1")
    # Traced programs are many objects that live long; looking through all of them for cycles, as often as Python does
    # by itself, took a tenth of the time.
    gc.set_threshold(50_000, 20, 50)

    os.environ["MPLBACKEND"] = "Agg"  # for the programs that tests start
    matplotlib.use("Agg")

    # The workers of xdist inherit the variable from the process that starts them, and so share its folder.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.stash[SESSION_CACHE] = tempfile.mkdtemp(prefix="dalembert-test-cache-")
        os.environ[CACHE_VARIABLE] = config.stash[SESSION_CACHE]
        # where Python is told to write no bytecode, each program that a test starts would compile all modules again
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
            os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(config.stash[SESSION_CACHE], "bytecode")


def pytest_collection_finish() -> None:
    gc.freeze()  # the modules stay: no need to look through them for cycles


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(SESSION_CACHE, None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


#: Linux lets a process have 65530 mappings of memory, three of which each piece of XLA's code takes; the next one
#: crashes the compiler.
MOST_MAPPINGS = 30_000
#: To count them takes a millisecond for each thousand, so it is done after every so many tests.
TESTS_BETWEEN_COUNTS = 20


@pytest.fixture(autouse=True)
def few_mappings(request: pytest.FixtureRequest):
    """Forget compiled code before there is too much of it; long runs of tests compile thousands of functions."""
    yield
    session = request.session.stash
    session[TESTS_SINCE_COUNT] = (session.get(TESTS_SINCE_COUNT, 0) + 1) % TESTS_BETWEEN_COUNTS
    if session[TESTS_SINCE_COUNT]:
        return
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
