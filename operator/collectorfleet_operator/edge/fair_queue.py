"""A queue in which tenants take turns, so that one tenant's many keys do not delay the others."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class FairQueue(Generic[K]):
    """A queue that returns one key of each tenant in turn. The keys of one tenant come first in, first out.

    A tenant has at most ``most_alone`` keys in work at a time. While another tenant has keys, the limit is
    ``most_beside_others``. If the work on all keys of a tenant hangs, for example in a webhook, the other tenants still
    have workers. A tenant with one key does not wait behind the many keys of another tenant.
    """

    def __init__(self, tenant_of: Callable[[K], Hashable], most_alone: int, most_beside_others: int) -> None:
        self._tenant_of = tenant_of
        self._most_alone = most_alone
        self._most_beside_others = most_beside_others
        # The keys of each tenant. The tenant whose turn is next comes first.
        self._lines: dict[Hashable, deque[K]] = {}
        self._handed_out: Counter[Hashable] = Counter()
        self._idle: deque[asyncio.Future[K]] = deque()

    def put(self, key: K) -> None:
        self._lines.setdefault(self._tenant_of(key), deque()).append(key)
        self._hand_out()

    async def get(self) -> K:
        """Block until a key is available, and return it. Call :meth:`done` after the work on the key."""
        waiting: asyncio.Future[K] = asyncio.get_running_loop().create_future()
        self._idle.append(waiting)
        self._hand_out()
        return await waiting

    def done(self, key: K) -> None:
        tenant = self._tenant_of(key)
        self._handed_out[tenant] -= 1
        if not self._handed_out[tenant]:
            del self._handed_out[tenant]
        self._hand_out()

    def _hand_out(self) -> None:
        while self._idle and (tenant := self._next_tenant()) is not None:
            waiting = self._idle.popleft()
            # A cancelled get() removes no key.
            if not waiting.done():
                waiting.set_result(self._next_of(tenant))

    def _next_tenant(self) -> Hashable | None:
        is_alone = len(self._lines) == 1 and not self._handed_out.keys() - self._lines.keys()
        most = self._most_alone if is_alone else self._most_beside_others
        return next((one for one in self._lines if self._handed_out[one] < most), None)

    def _next_of(self, tenant: Hashable) -> K:
        line = self._lines.pop(tenant)
        key = line.popleft()
        if line:
            # Put the tenant at the end, behind the other tenants.
            self._lines[tenant] = line
        self._handed_out[tenant] += 1
        return key
