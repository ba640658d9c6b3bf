"""Steps environments of tensors on a pretended device by our loop; a process of its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from tests import pretended_device, tensor_envs
from tests.unit.collectorfleet.actor.rollout.cases import bounded_policy
from tests.unit.collectorfleet.actor.rollout.sides import Asked, sides

from collectorfleet.actor.rollout import find
from collectorfleet.actor.rollout.memory import TRAJECTORY

CASES: list[tuple[dict[str, Any], str]] = [
    ({"device": pretended_device.NAME}, pretended_device.NAME),
    ({}, pretended_device.NAME),
    ({"device": pretended_device.NAME, "storing_device": "cpu"}, "cpu"),
]


def main() -> None:
    pretended_device.set_up()
    find._tensors = lambda batch: set(batch.keys(True, True))  # theirs are of another class here
    make = partial(tensor_envs.MaskedWalks, 4)
    _, wanted = sides(make, partial(bounded_policy, draws=False), 32)
    batches = [wanted.run(asked).batch for asked in (Asked(8), Asked(8, cut_after=3), Asked(8))]
    for options, stored in CASES:
        there = partial(make, device=pretended_device.NAME)
        policy = lambda: bounded_policy(draws=False).to(pretended_device.NAME)  # noqa: E731
        _, ours = sides(there, policy, 32, **options)
        assert ours.runner.loop == f"Fast, with tensors on {pretended_device.NAME}:0", ours.runner.loop
        for asked, batch in zip((Asked(8), Asked(8, cut_after=3), Asked(8)), batches, strict=True):
            found = ours.run(asked).batch
            assert found is not None
            assert batch is not None
            for key in batch.keys(True, True):
                # TorchRL numbers trajectories on the CPU if no storing device is named.
                where = stored if options or key != TRAJECTORY else "cpu"
                assert found.get(key).device.type == where, (key, found.get(key).device)
                assert torch.equal(found.get(key).cpu(), batch.get(key)), key
        print(f"equal: {options}")


if __name__ == "__main__":
    main()
