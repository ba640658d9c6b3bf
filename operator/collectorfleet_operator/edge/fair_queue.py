"""A line in which no tenant waits for all keys of another."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class FairQueue(Generic[K]):
    """Hands out one key of each tenant in turn, and the keys of one tenant in the order in which they came.

    ``most_of_a_tenant``: how many of its keys are handed out and not done at the same time. What a tenant's keys wait
    for, such as a webhook that hangs, then leaves workers to the other tenants.
    """

    def __init__(self, tenant_of: Callable[[K], Hashable], most_of_a_tenant: int) -> None:
        self._tenant_of = tenant_of
        self._most = most_of_a_tenant
        # The tenant whose turn is next comes first.
        self._lines: dict[Hashable, deque[K]] = {}
        self._handed_out: Counter[Hashable] = Counter()
        # One for each key in line that was not held back; a worker that takes one looks for a key.
        self._calls: asyncio.Queue[None] = asyncio.Queue()
        # Keys in line without such a call: their tenants had the most.
        self._held_back = 0

    def put(self, key: K) -> None:
        self._lines.setdefault(self._tenant_of(key), deque()).append(key)
        self._calls.put_nowait(None)

    async def get(self) -> K:
        """Block until there is a key whose turn it is; :meth:`done` is to be called for it."""
        while True:
            await self._calls.get()
            tenant = next((one for one in self._lines if self._handed_out[one] < self._most), None)
            if tenant is not None:
                return self._next_of(tenant)
            self._held_back += 1

    def done(self, key: K) -> None:
        tenant = self._tenant_of(key)
        self._handed_out[tenant] -= 1
        if not self._handed_out[tenant]:
            del self._handed_out[tenant]
        if self._held_back:
            self._held_back -= 1
            self._calls.put_nowait(None)

    def _next_of(self, tenant: Hashable) -> K:
        line = self._lines.pop(tenant)
        key = line.popleft()
        if line:
            # Behind the others.
            self._lines[tenant] = line
        self._handed_out[tenant] += 1
        return key
