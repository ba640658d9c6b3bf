"""Starts collectors on this machine by forking a server process, which has imported torch and has no other thread.

``multiprocessing`` makes each new process import the main program, and has no option to turn this off. A script without
a ``__main__`` guard would run again in each collector. So this module removes that import. Collectors do not need the
main program, because their code is in modules. The server process is separate from multiprocessing's, so a program may
use ``multiprocessing.set_forkserver_preload`` for its own processes.

This module does not import torch, because the starting process may run without torch.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from multiprocessing import context, forkserver, popen_forkserver, reduction, spawn, util
from multiprocessing.process import BaseProcess
from typing import Any, Final

# The server process imports these modules once. If torch is built without RPC, the server skips the last module.
_PRELOADED: Final = [
    "collectorfleet.preload",
    "collectorfleet.transport.distributed.member",
    "collectorfleet.transport.rpc.member",
]
_PROGRAM: Final = "init_main_from_"

_server: Final = forkserver.ForkServer()
_server.set_forkserver_preload(_PRELOADED)


def prepare() -> None:
    """Import torch in the server process before the first collector starts. Returns at once."""
    _server.ensure_running()


def begin(target: Callable[..., None], arguments: tuple[Any, ...], *, name: str) -> BaseProcess:
    """Start a process that calls ``target`` with ``arguments``. Any thread may call this.

    ``target`` is a function of a module, and the arguments can be pickled. The process is not a multiprocessing daemon,
    because a collector may start processes, and a daemon may not.
    """
    process = _Process(target=target, args=arguments, name=name)
    process.start()
    return process


class _Popen(popen_forkserver.Popen):
    """multiprocessing's class, with another server and without the import of the main program."""

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
        # The new process reads this pipe. When the pipe closes, the new process knows that this process has ended.
        kept = os.dup(writes)
        self.finalizer = util.Finalize(self, util.close_fds, (kept, self.sentinel))  # type: ignore[attr-defined]
        with open(writes, "wb") as pipe:
            pipe.write(pickled.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


class _Process(context.ForkServerProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> _Popen:  # noqa: N802  (multiprocessing's name)
        return _Popen(process_obj)
