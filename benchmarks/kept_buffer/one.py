"""Measures one replay buffer in an actor of its own Ray: the time of its dump, and of its state_dict."""

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ray
import torch
from tensordict import TensorDict
from torchrl.data import LazyTensorStorage, PrioritizedSampler, RandomSampler, TensorDictReplayBuffer

from benchmarks.common import child
from collectorfleet.durable_files import sync_tree
from collectorfleet.run.checkpoint.kept_buffer import KeptBuffer

_TIMES = 5
_AT_ONCE = 1000


def cartpole(frames: int) -> TensorDict:
    """Return ``frames`` frames with the keys and shapes of a CartPole batch."""
    following = {"observation": torch.randn(frames, 4), "reward": torch.ones(frames, 1)}
    following |= {name: torch.zeros(frames, 1, dtype=torch.bool) for name in ("done", "terminated", "truncated")}
    return TensorDict(
        {
            "observation": torch.randn(frames, 4),
            "action": torch.zeros(frames, 2),
            "collector": TensorDict({"weights_version": torch.ones(frames, dtype=torch.int64)}, [frames]),
            "next": TensorDict(following, [frames]),
        },
        [frames],
    )


def pixels(frames: int) -> TensorDict:
    """Return ``frames`` frames with images of 4 x 84 x 84 bytes before and after the step."""
    shape = (frames, 4, 84, 84)
    following = TensorDict({"observation": torch.zeros(shape, dtype=torch.uint8)}, [frames])
    return TensorDict({"observation": torch.ones(shape, dtype=torch.uint8), "next": following}, [frames])


# The factory of frames, the number of frames, the buffer's size, and whether the buffer has priorities.
CONTENTS: dict[str, tuple[Callable[[int], TensorDict], int, int, bool]] = {
    "100,000 frames of CartPole": (cartpole, 100_000, 100_000, False),
    "the same with priorities": (cartpole, 100_000, 100_000, True),
    "the same in a storage for 1,000,000": (cartpole, 100_000, 1_000_000, False),
    "20,000 frames of pixels, 2 x 4 x 84 x 84": (pixels, 20_000, 20_000, False),
}


def run(case: dict[str, Any]) -> dict[str, list[float]]:
    """Measure a buffer, write the result and exit. ``case["content"]`` is a key of :data:`CONTENTS`."""
    make, frames, size, prioritized = CONTENTS[case["content"]]
    sampler = partial(PrioritizedSampler, size, alpha=0.7, beta=0.5) if prioritized else RandomSampler
    found: dict[str, list[float]] = {}

    def timed(what: str, part: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        made = part()
        found.setdefault(what, []).append(time.perf_counter() - started)
        return made

    with child.local_ray(object_store_memory=4 * 2**30):
        buffer = TensorDictReplayBuffer(
            storage=partial(LazyTensorStorage, size),
            sampler=sampler,
            batch_size=256,
            service_backend="ray",
            service_backend_options={"remote_config": {"num_cpus": 0}},
        )
        for _ in range(frames // _AT_ONCE):
            buffer.extend(make(_AT_ONCE))
        folder = Path(os.environ[child.FOLDER]) / "dump"
        kept = KeptBuffer(buffer)
        for _ in range(_TIMES):
            timed("dump", partial(kept.dump, folder))
            found.setdefault("MB", []).append(sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6)
            timed("sync", partial(sync_tree, folder))
            shutil.rmtree(folder)
            state = timed("state_dict", buffer.state_dict)
            timed("pickling", partial(torch.save, state, io.BytesIO()))
            del state
        kept.dump(folder)
        timed("load", partial(kept.load, folder))
        ray.kill(buffer._rb)
        child.finish(found)


if __name__ == "__main__":
    child.serve(run)
