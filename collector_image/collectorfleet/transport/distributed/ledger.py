"""The undelivered parcels and frames of each member. No thread, no torch.

A parcel is owed until the member has acknowledged the parcel. An unsent parcel is no longer owed once a newer parcel
replaces it. Frames wait until the driver has received them. If a gang breaks, a new gang is formed, and only
undelivered parcels and frames are sent again.
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
    """The state of one member."""

    link: Any
    is_unresponsive: bool = False  # whether the member has not answered since it was called
    has_answered: bool = True  # whether the member has sent a message since the last call
    owed: dict[int, Parcel] = field(default_factory=dict)
    sent: set[int] = field(default_factory=set)  # sent over the current gang, or acknowledged before
    known_parcels: set[int] = field(default_factory=set)  # parcels that were announced to the member
    offered: dict[str, tuple[int, ...]] = field(default_factory=dict)  # newest parcels by policy, weights first
    requested: set[int] = field(default_factory=set)  # parcels that are sent even if a newer offer follows

    def owe(self, parcel: Parcel) -> None:
        self.known_parcels.add(parcel.number)
        if parcel.number not in self.sent:
            self.owed[parcel.number] = parcel

    def cancel_replaced(self) -> None:
        """Cancel each owed parcel that is not sent, not in the newest offer, and not required by a request."""
        wanted = self.sent.union(self.requested, *self.offered.values())
        self.owed = {number: parcel for number, parcel in self.owed.items() if number in wanted}


@dataclass
class Ledger:
    accounts: dict[CollectorId, Account] = field(default_factory=dict)
    frames: list[Frames] = field(default_factory=list)  # in order of their announcement

    def offer(self, collector: CollectorId, policy: str, parcels: Sequence[Parcel]) -> None:
        """Offer the newest parcels of a policy.

        These parcels replace unsent parcels of the policy, so that a slow network catches up.
        """
        account = self.accounts[collector]
        before = account.offered.get(policy, ())
        if before and before[0] in account.sent:
            # The weights of the last offer were sent, so the other parcels of this offer are sent too. Otherwise
            # frequent offers would leave every version incomplete.
            account.requested |= account.owed.keys() & before[1:]
        account.offered[policy] = tuple(parcel.number for parcel in parcels)
        for parcel in parcels:
            account.owe(parcel)
        account.cancel_replaced()

    def request(self, collector: CollectorId, parcels: Sequence[Parcel]) -> None:
        """Send the parcels that a request needs, even if a newer offer follows."""
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

    def note_message(self, collector: CollectorId) -> None:
        """Record a message of the member's group thread. The message proves that this thread works."""
        account = self.accounts[collector]
        account.is_unresponsive, account.has_answered = False, True

    def call_together(self) -> list[CollectorId]:
        """Return the members to call to a new gang. Sent parcels without an acknowledgement are owed again."""
        called = self.present()
        for collector in called:
            account = self.accounts[collector]
            account.has_answered = False
            account.sent -= account.owed.keys()
            account.cancel_replaced()
        return called

    def answered(self, called: list[CollectorId]) -> bool:
        """Return whether all called members have answered or left."""
        return all(self.accounts[collector].has_answered for collector in called if collector in self.accounts)

    def has_lost_any(self, called: list[CollectorId]) -> bool:
        """Return whether any called member has left."""
        return any(collector not in self.accounts for collector in called)

    def exclude_unresponsive(self, called: list[CollectorId]) -> list[CollectorId]:
        """Mark the called members that did not answer, and return them. They stay out of the gang until they answer."""
        silent = [one for one in called if one in self.accounts and not self.accounts[one].has_answered]
        for collector in silent:
            self.accounts[collector].is_unresponsive = True
        return silent

    def present(self) -> list[CollectorId]:
        return [collector for collector, account in self.accounts.items() if not account.is_unresponsive]

    def next_parcel(self, gang: list[CollectorId]) -> tuple[Parcel, list[CollectorId], bool] | None:
        """Return the parcel that waits longest, its receivers, and whether it is broadcast.

        A parcel is broadcast if no member of the gang has it.
        """
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
        """Return the frames that wait longest at a member of the gang."""
        return next((one for one in self.frames if one.answer.collector in gang), None)

    def sending(self, parcel: Parcel, to: list[CollectorId]) -> None:
        for collector in to:
            account = self.accounts[collector]
            # A broadcast reaches members that were not owed the parcel, and may fail for them, too.
            account.owed.setdefault(parcel.number, parcel)
            account.known_parcels.add(parcel.number)
            account.sent.add(parcel.number)

    def drop(self, parcel: int) -> list[CollectorId]:
        """Remove a parcel that no later offer names. Return the members that know the parcel."""
        told = [collector for collector, account in self.accounts.items() if parcel in account.known_parcels]
        for collector in told:
            self.accounts[collector].known_parcels.discard(parcel)
            self.accounts[collector].sent.discard(parcel)
        return told
