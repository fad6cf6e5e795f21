"""A process beside this one in which LLVM works: it can be ended at any time.

LLVM cannot be stopped in the middle of its work, and llvmlite holds one lock around every call. So a thread that has
LLVM make code fast would hold up the end of the program, for minutes if the code is long, and everybody else who needs
LLVM; and Ctrl-C would not be heard while it is at work in the main thread. The process gets the text through a pipe and
gives back object code, the same bytes as if it had been compiled here. It lives as long as there is work, ends when
this process does (killed by it, or because the pipe has closed), and a forked process has none of its parent's.

Where no interpreter can be started (a frozen program, one that embeds Python, no permission), `HelperMissing` is
raised.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import llvmlite

from . import object_code

#: The name of the threads that wait for the process.
THREAD = "dalembert: faster code"
#: Seconds in which threads end whose process was ended.
AT_THE_END = 1.0
#: What the process runs: the places of this folder and of llvmlite, and nothing else that is installed.
_PROGRAM = "import sys; sys.path += {places}; from object_code import serve; serve()"


class HelperFailed(Exception):
    """The other process has died."""


class HelperMissing(HelperFailed):
    """There is none, and there will be none."""


class _State:
    """What a forked child begins anew."""

    def __init__(self) -> None:
        self.turn = threading.Lock()  # held by the thread whose code is being compiled
        self.waiting: set[int] = set()  # threads that have code to compile in the background
        self.shared: Helper | None = None  # what they use
        self.running: set[Helper] = set()
        self.threads: set[threading.Thread] = set()


_state = _State()
_missing = False
#: Held while something is done in the middle of which a forked child could not go on.
no_fork = threading.RLock()


class Helper:
    """One such process."""

    def __init__(self) -> None:
        name = pathlib.Path(sys.executable or "").name.lower()
        if getattr(sys, "frozen", False) or not name.startswith(("python", "pypy")):
            raise _gone()
        places = [str(pathlib.Path(__file__).parent), str(pathlib.Path(llvmlite.__file__).parents[1])]
        windows = getattr(subprocess, "CREATE_NO_WINDOW", 0) | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)
        try:
            with no_fork:
                if _missing:  # also when this process is about to end
                    raise _gone()
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _PROGRAM.format(places=places)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                    start_new_session=True,  # Ctrl-C is for this process only
                    creationflags=windows,
                )  # fmt: skip
                assert self._process.stdin is not None
                assert self._process.stdout is not None
                self._to, self._from = self._process.stdin, self._process.stdout
                self._has_greeted = self._is_killed = False
                _state.running.add(self)
        except (OSError, RuntimeError, ValueError) as failure:
            raise _gone() from failure

    def object_code(self, *request) -> bytes:
        """What `object_code.object_code` gives for the same arguments."""
        try:
            if not self._has_greeted:
                self._has_greeted = object_code.receive(self._from.fileno()) == object_code.GREETING
                if not self._has_greeted:
                    raise EOFError
            object_code.send(self._to.fileno(), json.dumps(request).encode())
            return object_code.receive(self._from.fileno())
        except (OSError, ValueError, EOFError) as failure:
            raise (HelperFailed() if self._has_greeted or self._is_killed else _gone()) from failure

    def kill(self) -> None:
        """Whoever waits for it then gets HelperFailed."""
        self._is_killed = True
        with contextlib.suppress(OSError):
            self._process.kill()

    def end(self) -> None:
        """Leave no process behind and no pipe."""
        self.kill()
        self._process.wait()
        self.forget()
        with no_fork:
            _state.running.discard(self)

    def forget(self) -> None:
        """Close the pipes; in a forked child, without asking for a process that is its parent's."""
        self._process.returncode = self._process.returncode or 0
        for pipe in (self._to, self._from):
            pipe.close()


def is_missing() -> bool:
    """Whether it is known that there will be none."""
    return _missing


def _gone() -> HelperMissing:
    global _missing
    _missing = True
    return HelperMissing()


def start_thread(target, *arguments) -> threading.Thread:
    """A thread for `in_background` and the like, which the end of the program does not wait for."""

    def work() -> None:
        if hasattr(signal, "pthread_sigmask"):  # Ctrl-C is for the main thread; a closed pipe is an exception
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGPIPE})
        try:
            target(*arguments)
        finally:
            _state.threads.discard(thread)

    thread = threading.Thread(target=work, name=THREAD, daemon=True)
    _state.threads.add(thread)
    try:
        thread.start()
    except RuntimeError as failure:  # no more threads, or the program is over
        _state.threads.discard(thread)
        raise HelperMissing from failure
    return thread


def in_background(*request) -> bytes:
    """Object code, one after the other for all threads that ask, from one process."""
    state, me = _state, threading.get_ident()
    state.waiting.add(me)
    with state.turn:
        try:
            state.shared = state.shared or Helper()
            return state.shared.object_code(*request)
        except HelperFailed:
            _end_shared(state)
            raise
        finally:
            state.waiting.discard(me)
            if not state.waiting:
                _end_shared(state)


def _end_shared(state: _State) -> None:
    helper, state.shared = state.shared, None
    if helper is not None:
        helper.end()


def interruptibly(*request) -> bytes:
    """Object code, in a process of its own, so that an exception such as KeyboardInterrupt can end the wait for it."""
    helper, found = Helper(), []

    def work() -> None:
        with contextlib.suppress(HelperFailed):
            found.append(helper.object_code(*request))

    try:
        thread = start_thread(work)
        try:
            thread.join()
        finally:
            helper.kill()
            thread.join(AT_THE_END)  # before the pipe is closed that it reads
    finally:
        helper.end()
    if not found:
        raise HelperFailed
    return found[0]


@atexit.register
def _end_all() -> None:
    """Before llvmlite is taken down: its own function of this kind was registered earlier."""
    global _missing
    with no_fork:
        _missing = True
        for helper in _state.running:
            helper.kill()
    for thread in list(_state.threads):
        thread.join(AT_THE_END)
    for helper in list(_state.running):
        helper.end()


def _in_the_child() -> None:
    global _state
    before, _state = _state, _State()
    for helper in before.running:
        helper.forget()
    no_fork.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(before=no_fork.acquire, after_in_parent=no_fork.release, after_in_child=_in_the_child)
