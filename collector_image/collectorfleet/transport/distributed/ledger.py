"""Who is owed what: parcels on their way to members, and frames that wait at them. No thread, no torch.

A parcel is owed until the member has said that it has it, and frames wait until they have arrived; so a gang that broke
is formed anew, and what was not delivered, and nothing else, goes again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from collectorfleet.messages import CollectorId
from collectorfleet.transport.distributed.control import Announced
from collectorfleet.transport.distributed.parcel import Parcel


@dataclass
class Account:
    """Of one member."""

    link: Any
    silent: bool = False  # it was called, and has said nothing since
    spoke: bool = True  # since the gang was last called together
    owed: dict[int, Parcel] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)  # over the gang that there is, or arrived before


@dataclass
class Ledger:
    accounts: dict[CollectorId, Account] = field(default_factory=dict)
    frames: list[Announced] = field(default_factory=list)  # in the order in which they were announced

    def owe(self, collector: CollectorId, parcel: Parcel) -> None:
        account = self.accounts[collector]
        if parcel.number not in account.sent:
            account.owed[parcel.number] = parcel

    def arrived(self, collector: CollectorId, parcel: int) -> None:
        account = self.accounts[collector]
        if account.owed.pop(parcel, None) is not None:
            account.sent.add(parcel)

    def remove(self, collector: CollectorId) -> None:
        self.accounts.pop(collector, None)
        self.frames = [one for one in self.frames if one.answer.collector != collector]

    def heard_of(self, collector: CollectorId) -> None:
        account = self.accounts[collector]
        account.silent, account.spoke = False, True

    def call_together(self) -> list[CollectorId]:
        """Who is to come to a new gang. What was sent and is not known to have arrived is owed again."""
        called = self.present()
        for collector in called:
            account = self.accounts[collector]
            account.spoke = False
            account.sent -= account.owed.keys()
        return called

    def answered(self, called: list[CollectorId]) -> bool:
        """Whether all of them have, or are gone."""
        return all(self.accounts[collector].spoke for collector in called if collector in self.accounts)

    def without(self, called: list[CollectorId]) -> bool:
        """Whether any of them is gone."""
        return any(collector not in self.accounts for collector in called)

    def silence(self, called: list[CollectorId]) -> None:
        """Whoever was called and said nothing is left out until it speaks."""
        for collector in called:
            if collector in self.accounts and not self.accounts[collector].spoke:
                self.accounts[collector].silent = True

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

    def next_frames(self, gang: list[CollectorId]) -> Announced | None:
        """Those that wait longest at a member of the gang."""
        return next((one for one in self.frames if one.answer.collector in gang), None)

    def sending(self, parcel: Parcel, to: list[CollectorId]) -> None:
        for collector in to:
            account = self.accounts[collector]
            # A broadcast reaches those too who did not wait for it, and may miss them as well.
            account.owed.setdefault(parcel.number, parcel)
            account.sent.add(parcel.number)

    def drop(self, parcel: int) -> list[CollectorId]:
        """Nobody is offered it again; returns who may have it."""
        had = [collector for collector, account in self.accounts.items() if parcel in account.sent]
        for collector in had:
            self.accounts[collector].sent.discard(parcel)
        return had
