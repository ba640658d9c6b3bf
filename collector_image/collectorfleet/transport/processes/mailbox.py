"""The queue of messages between the threads of a transport and the gather thread."""

from __future__ import annotations

import queue
from collections.abc import Container

from collectorfleet.messages import CollectorId, Message


class Mailbox:
    """Any thread may put messages into the mailbox. The gather thread waits for messages."""

    def __init__(self) -> None:
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()

    def put(self, message: Message) -> None:
        self._messages.put(message)

    def wake(self) -> None:
        """Make :meth:`wait` return."""
        self._messages.put(None)

    def wait(self, timeout: float, present: Container[CollectorId]) -> list[Message]:
        """Block until a message arrives, :meth:`wake` is called, or ``timeout`` seconds have passed.

        Returns all messages of collectors in ``present``, in order. The result may be empty.
        """
        found = []
        try:
            found.append(self._messages.get(timeout=timeout))
            while True:
                found.append(self._messages.get_nowait())
        except queue.Empty:
            pass
        return [message for message in found if message is not None and message.collector in present]
