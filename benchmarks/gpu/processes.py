"""Child processes that answer messages through a pipe. They end after the block, or when their parent ends."""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from torch import multiprocessing

START_SECONDS = 60.0
ANSWER_SECONDS = 15.0
# A function that answers a message. Its second argument is the milliseconds of unpickling, which opens shared memory.
Answer = Callable[[Any, float], Any]


class Peer:
    """The parent's handle of one process."""

    def __init__(self, make: Callable[..., Answer], arguments: Sequence[Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, make, arguments), daemon=True)
        self._process.start()
        theirs.close()

    def send(self, message: Any) -> None:
        """Send a message. Tensors are not copied: torch's reductions send handles to their memory."""
        self.send_pickled(pickled(message))

    def send_pickled(self, message: Any) -> None:
        self._pipe.send_bytes(message)

    def answer(self, seconds: float = ANSWER_SECONDS) -> Any:
        """Block for the answer. Raises RuntimeError with the peer's error, or TimeoutError after ``seconds``."""
        if not self._pipe.poll(seconds):
            raise TimeoutError(f"no answer of a process within {seconds:g} s")
        try:
            error, found = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise RuntimeError("a process ended without an answer") from None
        if error is not None:
            raise RuntimeError(error)
        return found

    def ask(self, message: Any, seconds: float = ANSWER_SECONDS) -> Any:
        self.send(message)
        return self.answer(seconds)

    def close(self) -> None:
        """Close the pipe, which makes the process end."""
        self._pipe.close()

    def end(self, deadline: float) -> None:
        """Wait for the end of the process until ``deadline``, a monotonic time. Then kill the process."""
        self._process.join(max(0.0, deadline - time.monotonic()))
        if self._process.is_alive():
            self._process.kill()
            self._process.join(5)


@contextlib.contextmanager
def peers(count: int, make: Callable[..., Answer], *arguments: Any) -> Iterator[list[Peer]]:
    """Start ``count`` processes and end them after the block. Block until all are ready, at most a minute for each.

    ``make(index, *arguments)`` runs in each process and returns the function that answers messages. Raises RuntimeError
    with the error of ``make``, or TimeoutError.
    """
    found: list[Peer] = []
    try:
        for index in range(count):
            found.append(Peer(make, (index, *arguments)))  # noqa: PERF401  (if a process fails to start, the others are ended)
        for peer in found:
            peer.answer(START_SECONDS)
        yield found
    finally:
        for peer in found:
            peer.close()
        deadline = time.monotonic() + 5
        for peer in found:
            peer.end(deadline)


def pickled(message: Any) -> Any:
    """Return the bytes of a message for one receiver. torch counts the handles to shared memory per receiver."""
    return ForkingPickler.dumps(message)


def _serve(pipe: Connection, make: Callable[..., Answer], arguments: Sequence[Any]) -> None:
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        try:
            answer = make(*arguments)
        except Exception as error:  # noqa: BLE001  (the error is sent to the parent process)
            pipe.send((f"{type(error).__name__}: {error}", None))
            return
        pipe.send((None, None))
        while True:
            pipe.send(_reply(answer, pipe.recv_bytes()))


def _reply(answer: Answer, message: bytes) -> tuple[str | None, Any]:
    # No reference to the message may remain, because the sender counts the processes that use its memory.
    try:
        began = time.perf_counter()
        value = pickle.loads(message)
        return None, answer(value, (time.perf_counter() - began) * 1e3)
    except Exception as error:  # noqa: BLE001  (the error is sent to the process that asked)
        return f"{type(error).__name__}: {error}", None
