"""The process in which LLVM makes code fast: the same bytes, and nothing waits for it that should not."""

import os
import subprocess
import sys
import time

import pytest

from dalembert.engine.machine import compilation, effort, helper
from dalembert.engine.machine.object_code import host, object_code

TEXT = """
define void @run(ptr %x) {
  %a = load double, ptr %x
  %b = fmul double %a, 3.0
  store double %b, ptr %x
  ret void
}
"""
REQUEST = (TEXT, 2, ["sroa", "simplify_cfg"], *host())

# code that is improved by a process that says hello and then never answers
STUCK = """
import os, signal, sys, time
from dalembert.engine.machine import compilation, effort, helper
helper._PROGRAM = "import os, time; os.write(1, (9).to_bytes(8, 'little') + b'dalembert'); time.sleep(1000)"
code = effort.TieredCode({text!r}, "straight lines", (), 2, soon=True)
code.improve()
while not (helper._state.running and next(iter(helper._state.running))._has_greeted):
    time.sleep(0.01)
pid = next(iter(helper._state.running))._process.pid
{rest}
print(pid, "last line", flush=True)
"""


def stuck(rest: str = "", **options) -> tuple[int, subprocess.CompletedProcess]:
    """The helper's number, and how a program ended that had one which does not answer."""
    program = STUCK.format(text=TEXT, rest=rest)
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60, **options
    )
    return int(found.stdout.split()[0]), found


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DALEMBERT_CACHE_DIR", str(tmp_path))


@pytest.fixture
def missing(monkeypatch):
    """It can not be started."""
    monkeypatch.setattr(helper, "_missing", False)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")


def improved() -> effort.TieredCode:
    code = effort.TieredCode(TEXT, "straight lines", (), 2, soon=True)
    code.improve()
    effort.finish_compiling()
    return code


def test_it_gives_the_same_bytes():
    assert helper.in_background(*REQUEST) == helper.interruptibly(*REQUEST) == object_code(*REQUEST)
    assert not helper._state.running  # nothing to do, nothing left


def test_code_becomes_fast_in_it():
    assert len(improved()._codes) == 2


def test_a_script_ends_though_code_is_being_made_fast():
    pid, found = stuck()
    assert (found.returncode, found.stderr) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.long
@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_it_does_not_outlive_a_process_that_dies(end):
    program = (
        "import os, signal; from dalembert.engine.machine import helper, object_code; h = helper.Helper();"
        f"object_code.receive(h._from.fileno()); print(h._process.pid, flush=True); {end}"
    )
    found = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert found.stdout is not None
    pid = int(found.stdout.readline())
    found.wait(60)
    found.stdout.close()
    for _ in range(3000):
        try:
            with open(f"/proc/{pid}/stat") as state:
                if state.read().split()[2] == "Z":  # dead; nobody here fetches orphans
                    return
        except OSError:
            return
        time.sleep(0.01)
    pytest.fail("it is still there")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_none_of_it():
    rest = f"""
child = os.fork()
if not child:
    assert not helper._state.running
    code.improve()
    fresh = effort.TieredCode({TEXT!r} + " ", "straight lines", (), 0, soon=False)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
os.kill(pid, 0)
assert helper._state.running
"""
    _, found = stuck(rest)
    assert (found.returncode, found.stderr) == (0, "")


def test_ctrl_c_ends_the_wait_for_long_code():
    rest = f"""
from dalembert.engine.tuning import tuned
changed = tuned(long_text=(0, 0, 0))
changed.__enter__()
signal.setitimer(signal.ITIMER_REAL, 0.2)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    compilation.compile_text({TEXT!r} + " ", 2)
except KeyboardInterrupt:
    assert len(helper._state.running) == 1
else:
    raise SystemExit("not heard")
"""
    _, found = stuck(rest)
    assert (found.returncode, found.stderr) == (0, "")


def test_long_code_is_compiled_in_it(monkeypatch, tune):
    asked, interruptibly = [], helper.interruptibly
    tune(long_text=(0, 0, 0))
    monkeypatch.setattr(helper, "interruptibly", lambda *request: asked.append(request) or interruptibly(*request))
    compilation.compile_text(TEXT, 2)
    assert len(asked) == 1


def test_without_it_the_next_run_compiles_here_what_is_short(missing):
    code = improved()
    assert len(code._codes) == 1
    code.improve()
    assert len(code._codes) == 2


def test_without_it_long_code_is_not_made_fast(missing, tune):
    code = improved()
    tune(long_text=(0, 0, 0))
    code.improve()
    assert len(code._codes) == 1
    assert len(compilation.compile_text(TEXT, 2)) == 2  # but what is asked for is compiled


def test_a_program_that_embeds_python_is_not_started_again(monkeypatch):
    monkeypatch.setattr(helper, "_missing", False)
    monkeypatch.setattr(sys, "executable", "/bin/sh")
    with pytest.raises(helper.HelperMissing):
        helper.Helper()


def test_code_of_which_it_dies_is_left_alone(monkeypatch):
    hello = "os.write(1, (9).to_bytes(8, 'little') + b'dalembert')"
    monkeypatch.setattr(helper, "_PROGRAM", f"import os; {hello}; os.read(0, 9); os.abort()")
    code = improved()
    code.improve()
    assert len(code._codes) == 1
    assert not helper.is_missing()
