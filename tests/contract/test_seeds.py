"""What environments draw from the global random states, over every transport."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tests import envs
from tests.contract.harness import FRAMES, PLAIN, Harness, batch_of
from torch import Tensor

from collectorfleet.messages import Answer, CollectorId

# What envs.Drawing observes, by column.
DRAWN_BY = ("numpy", "random", "torch")


def drawn(harness: Harness, name: str, incarnation: int, generation: int) -> dict[str, Tensor]:
    """The first draws of a collector, which is stopped afterwards: some transports have only one process."""
    collector = CollectorId(name, incarnation)
    harness.start(name, incarnation, generation)
    harness.ask(collector)
    observations = batch_of(harness.hear(Answer, collector))["next", "observation"].clone()
    harness.transport.stop(collector)
    return dict(zip(DRAWN_BY, observations.unbind(-1), strict=True))


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> dict[str, int]:
    """How many draws are equal, by what drew them."""
    return {name: int((one[name] == other[name]).sum()) for name in DRAWN_BY}


def test_draws_differ_between_collectors_and_follow_from_the_seed(harness: Harness) -> None:
    harness.config = replace(PLAIN, create_env=envs.make_drawing)
    first = drawn(harness, "c0", 1, 0)
    # The same over every transport.
    assert [round(float(one[0]), 4) for one in first.values()] == [0.0518, 0.7385, 0.6307]
    assert equal(first, drawn(harness, "c1", 2, 0)) == dict.fromkeys(DRAWN_BY, 0)
    # A replacement repeats nothing.
    assert equal(first, drawn(harness, "c0", 3, 1)) == dict.fromkeys(DRAWN_BY, 0)
    # They repeat with the seed, whenever the slot was filled.
    assert equal(first, drawn(harness, "c0", 4, 0)) == dict.fromkeys(DRAWN_BY, FRAMES)
    harness.use_seed(1)
    assert equal(first, drawn(harness, "c0", 1, 0)) == dict.fromkeys(DRAWN_BY, 0)


def test_a_factory_that_takes_the_index_of_its_collector_is_told_it(harness: Harness) -> None:
    harness.config = replace(PLAIN, create_env=envs.make_numbered)
    told = drawn(harness, "c3", 1, 0)
    harness.config = replace(PLAIN, create_env=partial(envs.make_numbered, collector_index=5))
    assert [float(observed[0]) for observed in told.values()] == [3.0] * 3
    assert [float(observed[0]) for observed in drawn(harness, "c4", 2, 0).values()] == [5.0] * 3
