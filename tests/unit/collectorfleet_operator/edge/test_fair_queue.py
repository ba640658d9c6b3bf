"""Who is next in a line of several tenants."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from collectorfleet_operator.edge.fair_queue import FairQueue


def tenant_of(key: tuple[str, int]) -> str:
    return key[0]


def line(*keys: tuple[str, int], alone: int = 100, beside: int = 100) -> FairQueue[tuple[str, int]]:
    queue = FairQueue(tenant_of, alone, beside)
    for key in keys:
        queue.put(key)
    return queue


async def taken(queue: FairQueue[tuple[str, int]]) -> list[tuple[str, int]]:
    """All that are handed out without waiting."""
    found = []
    while True:
        try:
            async with asyncio.timeout(0):
                found.append(await queue.get())
        except TimeoutError:
            return found


def test_tenants_take_turns_and_the_keys_of_each_keep_their_order() -> None:
    queue = line(("a", 1), ("a", 2), ("a", 3), ("b", 1), ("c", 1), ("b", 2))
    assert asyncio.run(taken(queue)) == [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("a", 3)]


def test_a_tenant_has_no_more_than_its_most_until_one_is_done() -> None:
    async def scenario() -> list[list[tuple[str, int]]]:
        queue = line(("a", 1), ("a", 2), ("a", 3), ("b", 1), beside=2)
        first = await taken(queue)
        queue.done(("a", 1))
        return [first, await taken(queue)]

    assert asyncio.run(scenario()) == [[("a", 1), ("b", 1), ("a", 2)], [("a", 3)]]


def test_a_tenant_has_more_as_soon_as_it_is_alone() -> None:
    async def scenario() -> list[list[tuple[str, int]]]:
        queue = line(*(("a", number) for number in range(6)), ("b", 0), alone=4, beside=1)
        first = await taken(queue)
        queue.done(("b", 0))
        return [first, await taken(queue)]

    assert asyncio.run(scenario()) == [[("a", 0), ("b", 0)], [("a", 1), ("a", 2), ("a", 3)]]


def test_who_waits_gets_what_comes_and_one_that_was_cancelled_takes_nothing() -> None:
    async def scenario() -> tuple[str, int]:
        queue = line()
        first, second = (asyncio.create_task(queue.get()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        queue.put(("a", 1))
        return await second

    assert asyncio.run(scenario()) == ("a", 1)


KEYS = st.tuples(st.sampled_from("abc"), st.integers(0, 20))


@given(st.lists(KEYS, max_size=12), st.integers(1, 6), st.integers(1, 3), st.integers(0, 10_000))
def test_every_key_is_handed_out_once_and_no_tenant_has_more_than_its_most(
    keys: list[tuple[str, int]], alone: int, beside: int, seed: int
) -> None:
    async def scenario() -> None:
        queue, out, all_of_them = line(alone=max(alone, beside), beside=beside), [], []
        waiting, chance = list(keys), random.Random(seed)
        while len(all_of_them) < len(keys) or out:
            if waiting and chance.random() < 0.5:
                queue.put(waiting.pop(0))
            found = await taken(queue)
            out += found
            all_of_them += found
            assert all(count <= max(alone, beside) for count in Counter(map(tenant_of, out)).values())
            if out and (not waiting or chance.random() < 0.5):
                queue.done(out.pop(chance.randrange(len(out))))
        assert sorted(all_of_them) == sorted(keys)

    asyncio.run(scenario())
