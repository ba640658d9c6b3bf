"""Measures the frames per second of four collectors, of which one may be ten times slower."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

import torch

from benchmarks.common import child
from benchmarks.faults import environment
from benchmarks.faults.disturbed import COLLECTORS, make
from benchmarks.raycollector import measures

SLOWER = 10.0


def run(case: dict[str, Any]) -> NoReturn:
    """Measure the throughput of one side, write the result and exit.

    A case has ``side``, ``slow`` (whether a collector is slow), ``batches``, and ``options`` of the collector.
    """
    torch.set_num_threads(1)
    folder = Path(os.environ[child.FOLDER])
    with child.local_ray(num_cpus=COLLECTORS, object_store_memory=300 * 2**20):
        slow_first = SLOWER if case["slow"] else 1.0
        policy = environment.make_policy(folder)
        name, options = case["side"], case["options"]
        side = measures.Side(name, lambda: make(name, folder, policy, slow_first, **options))
        child.finish(dict(measures.throughput(side, batches=case["batches"], warm_up=3)))


if __name__ == "__main__":
    child.serve(run)
