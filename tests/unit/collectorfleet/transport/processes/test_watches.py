"""A transport waits for the threads that watch its processes, and for no thread that could not start."""

from __future__ import annotations

import threading

import pytest

from collectorfleet.transport.processes.watches import ProcessWatches


def test_a_shutdown_waits_until_a_process_was_seen_to_end() -> None:
    watches, ends, has_ended = ProcessWatches(), threading.Event(), threading.Event()

    def watch() -> None:
        ends.wait()
        has_ended.set()

    watches.begin(watch)
    ends.set()
    watches.join()
    assert has_ended.is_set()


def test_a_thread_that_cannot_start_does_not_prevent_a_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    watches = ProcessWatches()
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(RuntimeError, match="can't start"):
        watches.begin(print)
    watches.join()
