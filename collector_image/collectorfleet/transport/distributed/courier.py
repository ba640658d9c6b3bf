"""The driver's side of the process group: one thread that forms the gang, sends parcels and fetches frames.

One after another, so that no two operations of a group can wait for each other. Whatever breaks, the gang is formed
anew from those that answer, at a new rendezvous; the ledger says what is still to be delivered.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import torch
from torch._C._distributed_c10d import TCPStore

from collectorfleet.errors import describe, one_sentence
from collectorfleet.messages import Answer, CollectorId
from collectorfleet.transport.distributed import grouping
from collectorfleet.transport.distributed.exchange import TIMEOUT
from collectorfleet.transport.distributed.group import Group, forming
from collectorfleet.transport.distributed.ledger import Account, Ledger
from collectorfleet.transport.distributed.link import Link
from collectorfleet.transport.processes.frames import Frames
from collectorfleet.transport.processes.parcel import Parcel

log = logging.getLogger("collectorfleet")

# Whoever does not answer by then is left out of the gang until it does.
_CALL_TIMEOUT: Final = timedelta(seconds=3)
# Members give up first, and are ready for the next gang when the driver calls for it.
_TIMEOUT: Final = TIMEOUT + timedelta(seconds=1)
# Where it fails at once, it would the next time.
_AGAIN: Final = timedelta(seconds=1)


@dataclass(frozen=True)
class Gang:
    """Those who are in a group with the driver; the first of ``members`` has rank 1."""

    epoch: int
    members: list[CollectorId]
    group: Group

    def rank(self, collector: CollectorId) -> int:
        return self.members.index(collector) + 1


class Troubles:
    """Why there is no gang. Logged once for as long as it stays the same: it is tried again every few seconds."""

    def __init__(self) -> None:
        self._last = ""

    def broke(self, why: str) -> None:
        """Most often because a member is lost, of which others tell."""
        log.info("the process group broke and is formed again: %s", one_sentence(why))

    def not_formed(self, why: str) -> None:
        if why != self._last:
            log.warning("the process group cannot be formed; trying again: %s", one_sentence(why))
        self._last = why

    def formed(self) -> None:
        self._last = ""


class Courier:
    """``deliver`` is called with each answer, complete with its frames, on the courier's thread.

    ``host`` is where members find the store that they meet at. Methods are for any thread; all but :meth:`close`
    return at once.
    """

    def __init__(self, host: str, deliver: Callable[[Answer], None]) -> None:
        self._host = host
        self._deliver = deliver
        self._store: TCPStore | None = None  # where the members of the gang that there is have met
        self._ledger = Ledger()
        self._troubles = Troubles()
        self._changed = threading.Condition()
        self._gang: Gang | None = None
        self._epoch = 0
        self._sent_last = False  # a parcel, and not fetched frames
        self._broken = 0  # the newest epoch of which a member said so
        self._over = False
        # Python may collect a parcel at any moment, also of a thread that holds the lock.
        self._dropped: deque[int] = deque()
        self._thread = threading.Thread(target=self._carry, name="courier", daemon=True)
        self._thread.start()

    def join(self, collector: CollectorId, link: Link) -> None:
        """A member came; it gets into the next gang."""
        with self._changed:
            self._ledger.accounts[collector] = Account(link)
            self._changed.notify_all()

    def leave(self, collector: CollectorId) -> None:
        """A member is gone, or is to be; what it was owed and what waits at it is forgotten."""
        with self._changed:
            self._ledger.remove(collector)
            self._changed.notify_all()

    def offer(self, collector: CollectorId, policy: str, parcels: Sequence[Parcel]) -> None:
        """Send parcels to a member, unless it has them, or is offered newer ones of that policy before they go."""
        with self._changed:
            if collector in self._ledger.accounts:
                self._ledger.offer(collector, policy, parcels)
                self._changed.notify_all()

    def request(self, collector: CollectorId, parcels: Sequence[Parcel]) -> None:
        """Send parcels to a member, unless it has them."""
        with self._changed:
            if collector in self._ledger.accounts:
                self._ledger.request(collector, parcels)
                self._changed.notify_all()

    def drop(self, parcel: int) -> None:
        """Nobody will ask for it again: members may forget it, in their own time."""
        self._dropped.append(parcel)

    def receive_message(self, collector: CollectorId, said: Any) -> None:
        """What a member says about the gang, parcels and frames."""
        with self._changed:
            if collector not in self._ledger.accounts:
                return
            if isinstance(said, Frames):
                # Of the thread that works: the one that is to come to the gang may hang all the same.
                self._ledger.frames.append(said)
            else:
                self._ledger.heard_of(collector)
            match said:
                case grouping.Has(parcel):
                    self._ledger.arrived(collector, parcel)
                case grouping.Broken(epoch, why) if epoch == self._epoch:
                    note = self._troubles.not_formed if self._gang is None else self._troubles.broke
                    note(f"{collector} says: {why}")
                    self._broken, self._gang = epoch, None
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread. Blocks until it has done what it is at, or given that up: for at most a few seconds."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        # A thread that Python's end meets within torch would end the process by SIGABRT.
        self._thread.join()

    def _carry(self) -> None:
        while (step := self._next_step()) is not None:
            try:
                step()
            except RuntimeError as error:
                with self._changed:
                    self._troubles.broke(describe(error))
                    self._gang = None
        self._gang = None

    def _next_step(self) -> Callable[[], None] | None:
        """What to do next, blocking while there is nothing; None at the end."""
        with self._changed:
            while True:
                self._pass_on_dropped()
                if self._over:
                    return None
                step = self._step()
                if step is not None:
                    return step
                self._changed.wait()

    def _step(self) -> Callable[[], None] | None:
        present = self._ledger.present()
        gang = self._gang
        if gang is None or gang.members != present:
            self._gang = None
            return self._form if present else None
        found = self._ledger.next_parcel(gang.members)
        waits = self._ledger.next_frames(gang.members)
        # In turns: who publishes faster than the network sends must not keep frames back, nor frames the weights.
        if found is not None and (waits is None or not self._sent_last):
            self._sent_last = True
            parcel, to, broadcast = found
            self._ledger.sending(parcel, to)
            return lambda: self._send(gang, parcel, to, broadcast=broadcast)
        self._sent_last = False
        return None if waits is None else lambda: self._fetch(gang, waits)

    def _form(self) -> None:
        with self._changed:
            called = self._call_together()
            if called != self._ledger.present() or self._over:
                return
            try:
                group = self._meet(called)
            except RuntimeError as error:  # there is no store
                self._troubles.not_formed(describe(error))
            else:
                self._wait_for(group, called)
            if self._gang is None:
                self._changed.wait_for(lambda: self._over or self._ledger.without(called), _AGAIN.total_seconds())

    def _meet(self, called: list[CollectorId]) -> Future[Group]:
        self._epoch += 1
        # A store of its own for each: whoever is late for the one before meets nobody, and its keys end with it.
        self._store = TCPStore(self._host, 0, is_master=True, wait_for_workers=False, timeout=_TIMEOUT)
        store, size = (self._host, self._store.port), len(called) + 1
        for rank, collector in enumerate(called, 1):
            self._tell(collector, grouping.Form(self._epoch, store, rank, size))
        group = forming(store, self._host, rank=0, size=size, timeout=_TIMEOUT)
        group.add_done_callback(self._notify)
        return group

    def _wait_for(self, group: Future[Group], called: list[CollectorId]) -> None:
        epoch = self._epoch
        ended = self._changed.wait_for(
            lambda: group.done() or self._over or self._broken == epoch or self._ledger.without(called),
            _TIMEOUT.total_seconds(),
        )
        error = group.exception() if group.done() else None
        if group.done() and error is None:
            self._gang = Gang(epoch, called, group.result())
            self._troubles.formed()
        elif not ended:
            self._troubles.not_formed(f"not all of {_named(called)} joined within {_TIMEOUT.total_seconds():g} s")
        elif error is not None and not self._ledger.without(called):
            self._troubles.not_formed(describe(error))

    def _notify(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()

    def _call_together(self) -> list[CollectorId]:
        """Ask who is there: to wait at a rendezvous for one that does not come would cost all of them its time."""
        called = self._ledger.call_together()
        for collector in called:
            self._tell(collector, grouping.Call())
        self._changed.wait_for(lambda: self._over or self._ledger.answered(called), _CALL_TIMEOUT.total_seconds())
        silent = self._ledger.silence(called)
        if silent and not self._over:
            log.warning(
                "%s: no answer within %g s; left out of the process group until the next answer",
                _named(silent),
                _CALL_TIMEOUT.total_seconds(),
            )
        return called

    def _send(self, gang: Gang, parcel: Parcel, to: list[CollectorId], *, broadcast: bool) -> None:
        take = grouping.Take(gang.epoch, parcel.number, parcel.header, broadcast)
        if broadcast:
            self._tell_all(to, take)
            gang.group.broadcast(parcel.packed)
        else:
            for collector in to:
                # When its turn comes: its deadline begins with it.
                self._tell_all([collector], take)
                gang.group.send(parcel.packed, gang.rank(collector))

    def _fetch(self, gang: Gang, announced: Frames) -> None:
        collector, request = announced.answer.collector, announced.answer.request_id
        with self._changed:
            self._tell(collector, grouping.Give(gang.epoch, request))
        packed = torch.empty(announced.layout.size_bytes, dtype=torch.uint8)
        gang.group.receive(packed, gang.rank(collector))
        with self._changed:
            if announced not in self._ledger.frames:
                return  # of a collector that was stopped meanwhile
            self._ledger.frames.remove(announced)
            self._tell(collector, grouping.Delivered(request))
        self._deliver(announced.complete(packed))

    def _pass_on_dropped(self) -> None:
        while self._dropped:
            parcel = self._dropped.popleft()
            for collector in self._ledger.drop(parcel):
                self._tell(collector, grouping.Drop(parcel))

    def _tell_all(self, collectors: list[CollectorId], said: object) -> None:
        with self._changed:
            for collector in collectors:
                self._tell(collector, said)

    def _tell(self, collector: CollectorId, said: object) -> None:
        account = self._ledger.accounts.get(collector)
        if account is not None:
            account.link.send_message(said)


def _named(collectors: list[CollectorId]) -> str:
    return ", ".join(map(str, collectors))
