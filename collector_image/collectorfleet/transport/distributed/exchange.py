"""A member's side of the process group. It runs the group's operations in the order of the driver's messages."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

import torch
from torch import Tensor

from collectorfleet.actor.inbox import Offer
from collectorfleet.codec.snapshot import Snapshot
from collectorfleet.errors import describe
from collectorfleet.messages import Answer
from collectorfleet.transport.distributed import group_messages
from collectorfleet.transport.distributed.group import Group, forming
from collectorfleet.transport.distributed.link import Link
from collectorfleet.transport.processes.frames import Frames

TIMEOUT: Final = timedelta(seconds=5)


class Parcels(dict[int, Future[Snapshot]]):
    """Snapshots, keyed by parcel number.

    An entry exists from the first message about a parcel until the parcel is dropped.
    """

    def __missing__(self, number: int) -> Future[Snapshot]:
        # Two threads may add the same number at the same time. Both then get the same future.
        return self.setdefault(number, Future())


@dataclass(frozen=True, slots=True)
class Awaited:
    """A weights version whose parcels may not have arrived yet."""

    policy: str
    version: int
    weights: Future[Snapshot]
    normalization: Future[Snapshot] | None

    @property
    def arrived(self) -> bool:
        return self.weights.done() and (self.normalization is None or self.normalization.done())

    def is_newer(self, other: Awaited) -> bool:
        return self.version > other.version

    def offer(self) -> Offer:
        """Return the offer. Blocks until all its parcels have arrived."""
        also = None if self.normalization is None else self.normalization.result()
        return Offer(self.version, self.weights.result(), also)


class Exchange:
    """Receives parcels and sends frames.

    When all parcels of an offer have arrived, ``offer`` is called with the policy and the offer.
    """

    def __init__(self, link: Link, parcels: Parcels, offer: Callable[[str, Offer], None]) -> None:
        self._link = link
        self._parcels = parcels
        self._offer = offer
        self._group: Future[Group] | None = None
        self._epoch = 0
        self._kept: dict[int, Tensor] = {}
        self._awaited: list[Awaited] = []
        self.commands: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def announce(self, answer: Answer) -> None:
        """Announce an answer, and store the answer's frames until the driver has them. Any thread may call this."""
        frames, self._kept[answer.request_id] = Frames.of(answer)
        self._link.send_message(frames)

    def serve(self) -> None:
        """Execute the driver's commands for as long as the process lives."""
        while True:
            command = self.commands.get()
            try:
                self._execute(command)
            except (RuntimeError, TimeoutError) as error:
                # Another member left or is late. The driver forms a new gang, and requests the missing data again.
                self._group = None
                self._link.send_message(group_messages.Broken(self._epoch, describe(error)))

    def _execute(self, command: Any) -> None:
        match command:
            case group_messages.RollCall():
                # This thread answers, so that a member whose group thread hangs stays out of the next gang.
                self._link.send_message(group_messages.RollCallAnswer())
            case group_messages.Form() as form:
                self._form(form)
            case group_messages.ReceiveParcel(epoch=epoch) as take if self._group is not None and epoch == self._epoch:
                self._take(take, self._group.result(TIMEOUT.total_seconds()))
                self._offer_arrived()
                self._link.send_message(group_messages.ParcelReceived(take.parcel))
            case group_messages.SendFrames(epoch, request_id) if self._group is not None and epoch == self._epoch:
                self._group.result(TIMEOUT.total_seconds()).send(self._kept[request_id])
            case group_messages.Delivered(request_id):
                del self._kept[request_id]
            case group_messages.Drop(parcel):
                self._parcels.pop(parcel, None)
            case Awaited() as awaited:
                self._awaited.append(awaited)
                self._offer_arrived()

    def _form(self, form: group_messages.Form) -> None:
        self._epoch = form.epoch
        self._group = group = forming(form.store, self._link.own_host, rank=form.rank, size=form.size, timeout=TIMEOUT)
        group.add_done_callback(partial(self._report_if_broken, form.epoch))

    def _report_if_broken(self, epoch: int, group: Future[Group]) -> None:
        error = group.exception()
        if error is not None:
            self._link.send_message(group_messages.Broken(epoch, describe(error)))

    def _take(self, take: group_messages.ReceiveParcel, group: Group) -> None:
        packed = torch.empty(take.header.layout.size_bytes, dtype=torch.uint8)
        if take.broadcast:
            group.broadcast(packed)
        else:
            group.receive(packed)
        found = self._parcels[take.parcel]
        if not found.done():  # the driver repeats a parcel if the acknowledgement was lost
            found.set_result(take.header.complete(packed))

    def _offer_arrived(self) -> None:
        arrived = {one.policy: one for one in self._awaited if one.arrived}  # later entries of a policy are newer
        # Older versions may never arrive, because the driver drops unsent parcels when it offers newer parcels.
        self._awaited = [one for one in self._awaited if one.policy not in arrived or one.is_newer(arrived[one.policy])]
        for one in arrived.values():
            self._offer(one.policy, one.offer())
