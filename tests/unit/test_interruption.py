"""Ctrl-C while modules are loaded: they are loaded whole, then KeyboardInterrupt is raised."""

import signal
import subprocess
import sys
import time

import pytest

from dalembert import interruption

#: A module during whose loading Ctrl-C is pressed; what was raised there would be swallowed.
PRESSED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
except KeyboardInterrupt:
    pass
whole = True
"""
#: A program that is itself a module: it presses Ctrl-C in a run that would take minutes.
PROGRAM = """
import os, signal, threading
import dalembert as da

pendulum = da.gallery.Pendulum()
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
while True:
    da.simulate(pendulum, da.Rattle(), [1.0, 0.0], [0.0, 0.0], t=(0.0, 1.0), h=0.01)
"""
#: JAX, whose loading is interrupted at the first attempt.
INTERRUPTED = """
import sys
import time
import dalembert

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "jax.version":
            sys.meta_path.remove(self)
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
try:
    import jax
except KeyboardInterrupt:
    print("interrupted")
import jax
print(jax.config.jax_enable_x64)
"""


def ended(program: str, folder, name: str = "program") -> subprocess.CompletedProcess:
    (folder / f"{name}.py").write_text(program)
    # a test run that was started in the background ignores Ctrl-C, and so would what it starts
    listening = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import {name}"
    command = [sys.executable, "-c", listening]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def listening():
    """Python's own handler, also where the tests were started in the background, which ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_a_module_is_loaded_whole(tmp_path, monkeypatch):
    (tmp_path / "pressed_while_loading.py").write_text(PRESSED)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(KeyboardInterrupt):
            interruption.loaded("pressed_while_loading")
        assert sys.modules["pressed_while_loading"].whole
    finally:
        sys.modules.pop("pressed_while_loading", None)


def test_a_program_that_is_being_loaded_is_interrupted(tmp_path):
    done = ended(PROGRAM, tmp_path)
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr


def test_numbers_have_64_bits_also_after_an_interrupted_attempt_to_load_jax(tmp_path):
    assert ended(INTERRUPTED, tmp_path).stdout.split() == ["interrupted", "True"]


@pytest.mark.usefixtures("listening")
def test_a_run_is_known_to_be_cut_short_however_long_its_record_takes():
    """The next run was begun as if nothing had been pressed, where the call had gone on for more than a second."""
    with interruption.Interruption(at_once=True):
        with interruption.Interruption() as run:
            signal.raise_signal(signal.SIGINT)
            assert run.wanted
        time.sleep(interruption.SOON + 0.2)
    with pytest.raises(KeyboardInterrupt, match="the run before"), interruption.Interruption():
        pass
    with interruption.Interruption():  # said once
        pass
