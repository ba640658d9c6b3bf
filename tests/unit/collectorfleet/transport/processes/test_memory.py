"""Batches that wait in the driver's memory have a limit, which follows the memory of the container."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests import envs
from tests.in_process_fleet import fleet
from tests.wait import eventually

from collectorfleet.transport.processes import memory

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param("1000000\n", 400_000, id="a container with a limit"),
        pytest.param("max\n", int(MACHINE * 0.4), id="no limit of version 2"),
        pytest.param("9223372036854771712\n", int(MACHINE * 0.4), id="no limit of version 1"),
        pytest.param(None, int(MACHINE * 0.4), id="no container"),
    ],
)
def test_batches_may_use_a_share_of_the_memory_of_the_container_or_the_machine(
    limit: str | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.max"
    if limit is not None:
        file.write_text(limit)
    monkeypatch.setattr(memory, "_LIMITS", (file,))
    assert memory.room_for_batches() == expected


@pytest.mark.parametrize("bytes_of_room", [10_000, 0])
def test_collectors_do_not_look_ahead_beyond_the_memory_and_the_run_continues(
    bytes_of_room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "room_for_batches", lambda: bytes_of_room)
    options = {"num_collectors": 2, "frames_per_batch": 20, "total_frames": 1200, "sync": True, "max_staleness": 50}
    with fleet(envs.make_counting, envs.make_policy(), **options) as collector:
        batches = iter(collector)
        size = next(batches).bytes()
        gather = collector._consumer.shared.gather
        eventually(lambda: gather.collectors.busy == 0, within=20)
        assert gather.admissions.waiting_bytes <= max(bytes_of_room, size)
        assert len(list(batches)) == 59
