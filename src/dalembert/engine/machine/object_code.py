"""From LLVM text to object code: here, or in a process of its own.

This file imports nothing of the library, so that the process that `helper.py` starts has to load LLVM only.
"""

from __future__ import annotations

import functools
import json
import os
import queue
import threading

import llvmlite.binding as llvm

#: Without effort LLVM picks instructions by a quick selector that knows no multiply-add: it asks the thorough one for
#: each of them. To ask that one at once takes half the time, and the code a third less.
OPTION = "-fast-isel=0"
#: Bytes that tell the length of what follows.
HEAD = 8
#: What the process says first.
GREETING = b"dalembert"


@functools.cache
def _prepare() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.set_option("dalembert", OPTION)


@functools.cache
def host() -> tuple[str, str]:
    """The processor and what it can do, in LLVM's words."""
    _prepare()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def target_machine(effort: int, cpu: str, features: str) -> llvm.TargetMachine:
    """A new one each time: an execution engine takes possession of the one it is given."""
    _prepare()
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=effort, jit=True)


def object_code(text: str, effort: int, passes: list[str] | None, cpu: str, features: str) -> bytes:
    """What `text` becomes; `passes` go over its function `run`, None stands for the usual ones over all of it."""
    machine = target_machine(effort, cpu, features)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = llvm.get_default_triple(), str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=effort)
    options.slp_vectorization = False  # measured: no gain on these programs, and most of the compile time
    options.loop_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    if passes is not None:
        manager = llvm.create_new_function_pass_manager()
        for name in passes:
            getattr(manager, f"add_{name}_pass")()
        manager.run(module.get_function("run"), builder)
    elif effort > 1:
        builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def send(target: int, content: bytes) -> None:
    """Write bytes and before them their length."""
    rest = memoryview(len(content).to_bytes(HEAD, "little") + content)
    while rest:
        rest = rest[os.write(target, rest) :]


def receive(source: int) -> bytes:
    """Read what `send` wrote; EOFError if the other side has gone."""
    return _read(source, int.from_bytes(_read(source, HEAD), "little"))


def _read(source: int, count: int) -> bytes:
    pieces = []
    while count:
        pieces.append(os.read(source, min(count, 1 << 20)))
        if not pieces[-1]:
            raise EOFError
        count -= len(pieces[-1])
    return b"".join(pieces)


def serve() -> None:
    """The process: it answers each request in turn, and is gone at once when whoever started it is."""
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    try:
        send(1, GREETING)
        while True:
            send(1, object_code(*json.loads(requests.get())))
    finally:
        os._exit(1)


def _listen(requests: queue.SimpleQueue[bytes]) -> None:
    """In a thread of its own, which hears that the pipe was closed while LLVM is at work in the other one."""
    try:
        while True:
            requests.put(receive(0))
    finally:
        os._exit(0)
