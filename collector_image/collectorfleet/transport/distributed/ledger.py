"""Who is owed what: parcels on their way to members, and frames that wait at them. No thread, no torch.

A parcel is owed until the member has confirmed it, or until a newer parcel replaced it before it was sent. Frames wait
until they have arrived. If a gang breaks, it is formed again, and only undelivered parcels and frames are sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from collectorfleet.messages import CollectorId
from collectorfleet.transport.processes.frames import Frames
from collectorfleet.transport.processes.parcel import Parcel


@dataclass
class Account:
    """Of one member."""

    link: Any
    silent: bool = False  # it was called, and has not answered since
    spoke: bool = True  # since the gang was last called together
    owed: dict[int, Parcel] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)  # over the gang that there is, or arrived before
    heard: set[int] = field(default_factory=set)  # what it was told of, and keeps a place for
    offered: dict[str, tuple[int, ...]] = field(default_factory=dict)  # the newest of each policy, weights first
    requested: set[int] = field(default_factory=set)  # what goes whatever is offered later

    def owe(self, parcel: Parcel) -> None:
        self.heard.add(parcel.number)
        if parcel.number not in self.sent:
            self.owed[parcel.number] = parcel

    def let_go_of_what_was_replaced(self) -> None:
        """Nothing is owed but what is on its way, what was offered last, and what requests wait for."""
        wanted = self.sent.union(self.requested, *self.offered.values())
        self.owed = {number: parcel for number, parcel in self.owed.items() if number in wanted}


@dataclass
class Ledger:
    accounts: dict[CollectorId, Account] = field(default_factory=dict)
    frames: list[Frames] = field(default_factory=list)  # in the order in which they were announced

    def offer(self, collector: CollectorId, policy: str, parcels: Sequence[Parcel]) -> None:
        """The newest of a policy. What it replaces does not go any more, however slow the network is."""
        account = self.accounts[collector]
        before = account.offered.get(policy, ())
        if before and before[0] in account.sent:
            # Its weights went: with one offer after another between the two, no version would ever be whole.
            account.requested |= account.owed.keys() & before[1:]
        account.offered[policy] = tuple(parcel.number for parcel in parcels)
        for parcel in parcels:
            account.owe(parcel)
        account.let_go_of_what_was_replaced()

    def request(self, collector: CollectorId, parcels: Sequence[Parcel]) -> None:
        """What a request waits for goes, whatever is offered after it."""
        account = self.accounts[collector]
        for parcel in parcels:
            account.owe(parcel)
            if parcel.number in account.owed:
                account.requested.add(parcel.number)

    def arrived(self, collector: CollectorId, parcel: int) -> None:
        account = self.accounts[collector]
        account.requested.discard(parcel)
        if account.owed.pop(parcel, None) is not None:
            account.sent.add(parcel)

    def remove(self, collector: CollectorId) -> None:
        self.accounts.pop(collector, None)
        self.frames = [one for one in self.frames if one.answer.collector != collector]

    def heard_of(self, collector: CollectorId) -> None:
        """It obeys, by the thread that is alone with the process group."""
        account = self.accounts[collector]
        account.silent, account.spoke = False, True

    def call_together(self) -> list[CollectorId]:
        """Who is to come to a new gang. What was sent and is not known to have arrived is owed again."""
        called = self.present()
        for collector in called:
            account = self.accounts[collector]
            account.spoke = False
            account.sent -= account.owed.keys()
            account.let_go_of_what_was_replaced()
        return called

    def answered(self, called: list[CollectorId]) -> bool:
        """Whether all of them have, or are gone."""
        return all(self.accounts[collector].spoke for collector in called if collector in self.accounts)

    def without(self, called: list[CollectorId]) -> bool:
        """Whether any of them is gone."""
        return any(collector not in self.accounts for collector in called)

    def silence(self, called: list[CollectorId]) -> list[CollectorId]:
        """Whoever was called and did not answer, and is left out until it does."""
        silent = [one for one in called if one in self.accounts and not self.accounts[one].spoke]
        for collector in silent:
            self.accounts[collector].silent = True
        return silent

    def present(self) -> list[CollectorId]:
        return [collector for collector, account in self.accounts.items() if not account.silent]

    def next_parcel(self, gang: list[CollectorId]) -> tuple[Parcel, list[CollectorId], bool] | None:
        """The parcel that waits longest, who gets it, and whether by broadcast: that is how all get what nobody has."""
        for collector in gang:
            account = self.accounts[collector]
            for number, parcel in account.owed.items():
                if number in account.sent:
                    continue
                if not any(number in self.accounts[one].sent for one in gang):
                    return parcel, gang, True
                owing = [one for one in gang if number in self.accounts[one].owed.keys() - self.accounts[one].sent]
                return parcel, owing, False
        return None

    def next_frames(self, gang: list[CollectorId]) -> Frames | None:
        """Those that wait longest at a member of the gang."""
        return next((one for one in self.frames if one.answer.collector in gang), None)

    def sending(self, parcel: Parcel, to: list[CollectorId]) -> None:
        for collector in to:
            account = self.accounts[collector]
            # A broadcast reaches those too who did not wait for it, and may miss them as well.
            account.owed.setdefault(parcel.number, parcel)
            account.heard.add(parcel.number)
            account.sent.add(parcel.number)

    def drop(self, parcel: int) -> list[CollectorId]:
        """Nobody is offered it again; returns who was told of it."""
        told = [collector for collector, account in self.accounts.items() if parcel in account.heard]
        for collector in told:
            self.accounts[collector].heard.discard(parcel)
            self.accounts[collector].sent.discard(parcel)
        return told
