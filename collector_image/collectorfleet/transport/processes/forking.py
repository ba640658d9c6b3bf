"""Processes of this machine for collectors, forked from one that has imported torch and has no thread.

``multiprocessing`` makes each new process import the program that began it, and has no option to turn this off. A
script without a guard would begin again in each collector. So that part of a new process' instructions is left out, and
the code of collectors is in modules. The process to fork from is one of our own. A program may set
``multiprocessing.set_forkserver_preload`` for its own processes.

Nothing here imports torch: who begins processes may do without it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from multiprocessing import context, forkserver, popen_forkserver, reduction, spawn, util
from multiprocessing.process import BaseProcess
from typing import Any, Final

# Imported once. One of them is missing where torch is built without RPC, and is then passed over.
_PRELOADED: Final = [
    "collectorfleet.preload",
    "collectorfleet.transport.distributed.member",
    "collectorfleet.transport.rpc.member",
]
_PROGRAM: Final = "init_main_from_"

_server: Final = forkserver.ForkServer()
_server.set_forkserver_preload(_PRELOADED)


def prepare() -> None:
    """Import torch where processes are forked from, before there is one to begin. Returns at once."""
    _server.ensure_running()


def begin(target: Callable[..., None], arguments: tuple[Any, ...], *, name: str) -> BaseProcess:
    """A process that calls ``target``, which is of a module, with arguments that can be pickled. Any thread.

    It is no daemon in multiprocessing's sense: those may have no processes, and collectors may.
    """
    process = _Process(target=target, args=arguments, name=name)
    process.start()
    return process


class _Popen(popen_forkserver.Popen):
    """multiprocessing's own, but for the server and for what is left out."""

    def _launch(self, process_obj: BaseProcess) -> None:
        told = spawn.get_preparation_data(process_obj.name)
        pickled = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump({key: value for key, value in told.items() if not key.startswith(_PROGRAM)}, pickled)
            reduction.dump(process_obj, pickled)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, writes = _server.connect_to_new_process(self._fds)  # type: ignore[attr-defined]
        # Its own end of this pipe tells the new process that this one has ended.
        kept = os.dup(writes)
        self.finalizer = util.Finalize(self, util.close_fds, (kept, self.sentinel))  # type: ignore[attr-defined]
        with open(writes, "wb") as pipe:
            pipe.write(pickled.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


class _Process(context.ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> _Popen:  # noqa: N802  (multiprocessing's name)
        return _Popen(process_obj)
