"""The driver's side of the process group. One thread forms the gang, sends parcels and fetches frames.

The gang consists of the driver and the members that are in one process group. A parcel is a copy of weights or of a
normalization. The thread runs one operation at a time, so that two operations of a group cannot wait for each other. If
the group breaks, the courier forms a new gang of the members that answer, at a new rendezvous. The ledger lists the
parcels and frames that are still to be delivered.
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
from collectorfleet.transport.distributed import group_messages
from collectorfleet.transport.distributed.exchange import TIMEOUT
from collectorfleet.transport.distributed.group import Group, forming
from collectorfleet.transport.distributed.ledger import Account, Ledger
from collectorfleet.transport.distributed.link import Link
from collectorfleet.transport.processes.frames import Frames
from collectorfleet.transport.processes.parcel import Parcel

log = logging.getLogger("collectorfleet")

# A member that does not answer in this time stays out of the gang until it answers.
_CALL_TIMEOUT: Final = timedelta(seconds=3)
# Members time out before the driver, so that they are ready when the driver forms the next gang.
_TIMEOUT: Final = TIMEOUT + timedelta(seconds=1)
# The pause before the next attempt. An attempt that failed at once would probably fail again at once.
_AGAIN: Final = timedelta(seconds=1)


@dataclass(frozen=True)
class Gang:
    """The members that are in a group with the driver. The first of ``members`` has rank 1."""

    epoch: int
    members: list[CollectorId]
    group: Group

    def rank(self, collector: CollectorId) -> int:
        return self.members.index(collector) + 1


class Troubles:
    """Logs why there is no gang. The courier retries every few seconds, so a repeated cause is logged only once."""

    def __init__(self) -> None:
        self._last = ""

    def broke(self, why: str) -> None:
        """Log that the group broke. The most frequent cause is a lost member, which the other members report."""
        log.info("the process group broke and is formed again: %s", one_sentence(why))

    def not_formed(self, why: str) -> None:
        if why != self._last:
            log.warning("the process group cannot be formed; trying again: %s", one_sentence(why))
        self._last = why

    def formed(self) -> None:
        self._last = ""


class Courier:
    """Delivers weights to the members and frames to the driver.

    ``deliver`` is called on the courier's thread with each complete answer. ``host`` is the address of the store at
    which members meet. Any thread may call the methods. All methods except :meth:`close` return at once.
    """

    def __init__(self, host: str, deliver: Callable[[Answer], None]) -> None:
        self._host = host
        self._deliver = deliver
        self._store: TCPStore | None = None  # the rendezvous of the current gang
        self._ledger = Ledger()
        self._troubles = Troubles()
        self._changed = threading.Condition()
        self._gang: Gang | None = None
        self._epoch = 0
        self._sent_last = False  # whether the last step sent a parcel; False: it fetched frames
        self._broken = 0  # the newest epoch that a member reported as broken
        self._over = False
        # Python may garbage-collect a parcel at any time, even on a thread that holds the lock. So `drop` acquires no
        # lock.
        self._dropped: deque[int] = deque()
        self._thread = threading.Thread(target=self._carry, name="courier", daemon=True)
        self._thread.start()

    def join(self, collector: CollectorId, link: Link) -> None:
        """Add a connected member. It joins the next gang."""
        with self._changed:
            self._ledger.accounts[collector] = Account(link)
            self._changed.notify_all()

    def leave(self, collector: CollectorId) -> None:
        """Remove a member. Its undelivered parcels and frames are discarded."""
        with self._changed:
            self._ledger.remove(collector)
            self._changed.notify_all()

    def offer(self, collector: CollectorId, policy: str, parcels: Sequence[Parcel]) -> None:
        """Send parcels to a member unless the member already has them.

        A newer offer of the same policy replaces parcels that are not yet sent.
        """
        with self._changed:
            if collector in self._ledger.accounts:
                self._ledger.offer(collector, policy, parcels)
                self._changed.notify_all()

    def request(self, collector: CollectorId, parcels: Sequence[Parcel]) -> None:
        """Send parcels to a member, unless the member already has them."""
        with self._changed:
            if collector in self._ledger.accounts:
                self._ledger.request(collector, parcels)
                self._changed.notify_all()

    def drop(self, parcel: int) -> None:
        """Let members delete a parcel that no later offer or request uses. They may delete it after the return."""
        self._dropped.append(parcel)

    def handle_message(self, collector: CollectorId, said: Any) -> None:
        """Handle a member's message about the gang, parcels or frames."""
        with self._changed:
            if collector not in self._ledger.accounts:
                return
            if isinstance(said, Frames):
                # The member's thread for rollouts sends this message. So the message does not prove that the member's
                # group thread works.
                self._ledger.frames.append(said)
            else:
                self._ledger.note_message(collector)
            match said:
                case group_messages.ParcelReceived(parcel):
                    self._ledger.arrived(collector, parcel)
                case group_messages.Broken(epoch, why) if epoch == self._epoch:
                    note = self._troubles.not_formed if self._gang is None else self._troubles.broke
                    note(f"{collector} reports: {why}")
                    self._broken, self._gang = epoch, None
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread. Blocks for at most a few seconds, until the current operation ends or fails."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        # If Python exits while the thread runs torch code, the process ends by SIGABRT.
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
        """Return the next step. Block while there is no step. Return None after :meth:`close`."""
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
        # Send a parcel and fetch frames alternately. Fast publishing must not delay frames, and frames must not delay
        # weights.
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
                group = self._form_group(called)
            except RuntimeError as error:  # the store cannot be created
                self._troubles.not_formed(describe(error))
            else:
                self._wait_for(group, called)
            if self._gang is None:
                self._changed.wait_for(lambda: self._over or self._ledger.has_lost_any(called), _AGAIN.total_seconds())

    def _form_group(self, called: list[CollectorId]) -> Future[Group]:
        self._epoch += 1
        # Each gang has its own store. A member that is late for an earlier gang finds no other members. The keys that
        # it writes disappear with the old store.
        self._store = TCPStore(self._host, 0, is_master=True, wait_for_workers=False, timeout=_TIMEOUT)
        store, size = (self._host, self._store.port), len(called) + 1
        for rank, collector in enumerate(called, 1):
            self._tell(collector, group_messages.Form(self._epoch, store, rank, size))
        group = forming(store, self._host, rank=0, size=size, timeout=_TIMEOUT)
        group.add_done_callback(self._notify)
        return group

    def _wait_for(self, group: Future[Group], called: list[CollectorId]) -> None:
        epoch = self._epoch
        ended = self._changed.wait_for(
            lambda: group.done() or self._over or self._broken == epoch or self._ledger.has_lost_any(called),
            _TIMEOUT.total_seconds(),
        )
        error = group.exception() if group.done() else None
        if group.done() and error is None:
            self._gang = Gang(epoch, called, group.result())
            self._troubles.formed()
        elif not ended:
            self._troubles.not_formed(f"not all of {_named(called)} joined within {_TIMEOUT.total_seconds():g} s")
        elif error is not None and not self._ledger.has_lost_any(called):
            self._troubles.not_formed(describe(error))

    def _notify(self, _: object) -> None:
        with self._changed:
            self._changed.notify_all()

    def _call_together(self) -> list[CollectorId]:
        """Call all members and await their answers. Return the called members.

        If a member without an answer were in the gang, all others would wait for it at the rendezvous.
        """
        called = self._ledger.call_together()
        for collector in called:
            self._tell(collector, group_messages.RollCall())
        self._changed.wait_for(lambda: self._over or self._ledger.answered(called), _CALL_TIMEOUT.total_seconds())
        silent = self._ledger.exclude_unresponsive(called)
        if silent and not self._over:
            log.warning(
                "%s: no answer within %g s; the process group continues without this collector until it answers",
                _named(silent),
                _CALL_TIMEOUT.total_seconds(),
            )
        return called

    def _send(self, gang: Gang, parcel: Parcel, to: list[CollectorId], *, broadcast: bool) -> None:
        take = group_messages.ReceiveParcel(gang.epoch, parcel.number, parcel.header, broadcast)
        if broadcast:
            self._tell_all(to, take)
            gang.group.broadcast(parcel.packed)
        else:
            for collector in to:
                # Announce the parcel only when it is sent, because the member's timeout begins with the announcement.
                self._tell_all([collector], take)
                gang.group.send(parcel.packed, gang.rank(collector))

    def _fetch(self, gang: Gang, announced: Frames) -> None:
        collector, request = announced.answer.collector, announced.answer.request_id
        with self._changed:
            self._tell(collector, group_messages.SendFrames(gang.epoch, request))
        packed = torch.empty(announced.layout.size_bytes, dtype=torch.uint8)
        gang.group.receive(packed, gang.rank(collector))
        with self._changed:
            if announced not in self._ledger.frames:
                return  # the collector was stopped meanwhile
            self._ledger.frames.remove(announced)
            self._tell(collector, group_messages.Delivered(request))
        self._deliver(announced.complete(packed))

    def _pass_on_dropped(self) -> None:
        while self._dropped:
            parcel = self._dropped.popleft()
            for collector in self._ledger.drop(parcel):
                self._tell(collector, group_messages.Drop(parcel))

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
