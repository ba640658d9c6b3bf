"""What a host of collectors does as it is told, and cannot."""

from __future__ import annotations

from typing import Any

import pytest

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed import host_messages
from collectorfleet.transport.distributed.host_process import _Processes


class SentMessages(list[object]):
    """A link that keeps the messages."""

    send_message = list.append


def test_a_collector_for_which_there_is_no_gpu_is_told_of_and_the_host_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    link: Any = SentMessages()
    processes = _Processes(link, b"a token of 16 or more bytes", first=4)
    processes.gpus_per_collector = 0.5
    processes.launch(CollectorId("c6", 1), ("127.0.0.1", 1))  # the third of this host
    [said] = link
    assert isinstance(said, host_messages.Ended)
    assert (
        "its process could not begin: InvalidOption: gpus_per_collector: with 0.5 GPU each, collector 3 of"
        in said.cause
    )
    processes.end()
