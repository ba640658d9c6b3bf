"""Collectors that start processes of their own for their environments."""

from __future__ import annotations

from tests import envs, in_process_fleet
from tests.runtime.batches import VERSION, learn


def test_processes_of_a_collector_run_published_weights() -> None:
    options = {"collector_class": "sync", "num_workers_per_collector": 2, "num_collectors": 1, "sync": True}
    newest = 0.0
    with in_process_fleet.fleet(
        envs.make_counting,
        envs.make_policy(),
        frames_per_batch=20,
        total_frames=200,
        update_after_each_batch=True,
        **options,
    ) as collector:
        for batch in collector:
            assert tuple(batch.shape) == (1, 2, 10)
            versions, values = batch[VERSION].flatten().tolist(), (batch["next", "reward"] / 2).flatten().tolist()
            for version, value in zip(versions, values, strict=True):
                # A version never promises newer weights than made the frame.
                assert version <= value + 1
                newest = max(newest, value)
            learn(collector)
    assert newest >= 9
