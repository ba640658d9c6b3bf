"""Measure how much the fleets of one namespace delay the first status of a fleet in another, and print a table.

    python -m benchmarks.fleets.fairness [--rounds 10] [--write docs/fairness.md]

API server and etcd are real and run on the same cores as the operator. Each round measures a fleet alone and a fleet
beside the other namespace.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from benchmarks.common import tables
from benchmarks.fleets import played
from benchmarks.fleets.__main__ import on_a_plane
from benchmarks.fleets.api import Api, each
from benchmarks.fleets.measures import Fleets
from collectorfleet_operator.children.owner import FLEET
from collectorfleet_operator.objects import Key, Object, name_of, namespace_of

INVALID_FLEETS: Final = 200
CROWDED: Final = "fleets-0"
OTHER: Final = "fleets-1"
AT_ONCE: Final = 16
PATIENCE_SECONDS: Final = 120.0
# The operator has settled if it sends no write for this time.
SETTLED_SECONDS: Final = 2.0

INTRODUCTION = f"""# Fairness: what one namespace costs another

* *First status* is the time from the creation of a valid fleet until a watch shows its first status.
* *Beside*: another namespace gets {INVALID_FLEETS} fleets that the operator refuses, {AT_ONCE} at a time.
  The benchmark sends the valid fleet as soon as the last of these fleets is stored.

    python -m benchmarks.fleets.fairness --write docs/fairness.md

*Later* is *beside* minus *alone* in one round.
"""


class Statuses:
    """The monotonic time at which a watch first showed a status of each fleet."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._first: dict[Key, float] = {}
        self._news = asyncio.Condition()

    async def follow(self) -> None:
        """Watch the fleets for ever."""
        fleets: AsyncIterator[Object] = self._api.follow(FLEET)
        async for one in fleets:
            if (one.get("status") or {}).get("observedGeneration", 0) > 0:
                self._first.setdefault(Key(namespace_of(one), name_of(one)), time.monotonic())
                async with self._news:
                    self._news.notify_all()

    async def first(self, key: Key) -> float:
        """Wait for the first status of a fleet and return its time. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._news:
            await self._news.wait_for(lambda: key in self._first)
        return self._first[key]

    async def count(self, namespace: str, number: int) -> None:
        """Wait until ``number`` fleets of a namespace have a status. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._news:
            await self._news.wait_for(lambda: sum(key.namespace == namespace for key in self._first) >= number)


async def rounds(number: int, folder: Path) -> list[tuple[float, float]]:
    """Return the seconds until the first status for each round: alone, and beside the other namespace's fleets."""
    found = []
    async with on_a_plane(folder, 0) as fleets:
        fleets.operator.launch()
        await fleets.operator.ready()
        statuses = Statuses(fleets.api)
        following = asyncio.create_task(statuses.follow())
        try:
            for round_ in range(number):
                alone = await _first_status(fleets, statuses, 2 * round_)
                await _settled(fleets)
                first = INVALID_FLEETS * round_
                numbers = range(first, first + INVALID_FLEETS)
                await each(numbers, lambda one: _create_invalid(fleets.api, one), AT_ONCE)
                beside = await _first_status(fleets, statuses, 2 * round_ + 1)
                await statuses.count(CROWDED, first + INVALID_FLEETS)
                await _settled(fleets)
                found.append((alone, beside))
                print(f"round {round_ + 1}: alone {alone:.2f} s, beside {beside:.2f} s", flush=True)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    return found


async def _first_status(fleets: Fleets, statuses: Statuses, number: int) -> float:
    fleet = played.fleet(number, OTHER)
    began = time.monotonic()
    await fleets.api.create(FLEET, fleet)
    return await statuses.first(Key(OTHER, name_of(fleet))) - began


async def _create_invalid(api: Api, number: int) -> None:
    # Too little memory for a process. The operator rejects it, and the CRD has no rule for it.
    driver = {"train": {"function": "my_train:train"}, "resources": {"memory": "10k"}}
    await api.create(FLEET, played.fleet(number, CROWDED, driver=driver))


async def _settled(fleets: Fleets) -> None:
    """Wait until the operator sends no write for ``SETTLED_SECONDS``."""
    before = None
    while (now := (await fleets.operator.requests()).writes) != before:
        before = now
        await asyncio.sleep(SETTLED_SECONDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, metavar="N")
    parser.add_argument("--write", metavar="FILE", help="write the table there too")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fairness-") as folder:
        found = asyncio.run(rounds(args.rounds, Path(folder)))
    alone, beside = zip(*found, strict=True)
    later = [two - one for one, two in found]
    rows = [
        ["first status, alone (s)", tables.spread(alone)],
        [f"first status, beside {INVALID_FLEETS} invalid fleets of another namespace (s)", tables.spread(beside)],
        ["later (s)", tables.spread(later)],
        ["later, the mean of all rounds (s)", tables.number(statistics.mean(later))],
    ]
    table = tables.table(["", f"median (least-most), n = {len(found)}"], rows)
    text = f"{table}\n\n{tables.machine('kubernetes', 'kopf')}."
    print(f"\n{text}")
    if args.write:
        tables.write(args.write, f"{INTRODUCTION}\n{text}")


if __name__ == "__main__":
    main()
