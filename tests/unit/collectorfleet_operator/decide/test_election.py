"""At no time do two operators believe that they lead, whatever their clocks and however long they pause."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from collectorfleet_operator.decide.election import GIVE_UP_SECONDS, LEASE_SECONDS, Election, holder_of
from collectorfleet_operator.objects import Key

KEY = Key("system", "operator")
START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("a", "b")


class Store:
    """The API server: who writes what is not the newest any more is refused."""

    def __init__(self) -> None:
        self.lease: Any = None

    def write(self, manifest: Any) -> bool:
        newest = self.lease and self.lease["metadata"]["resourceVersion"]
        if manifest["metadata"].get("resourceVersion") != newest:
            return False
        version = str(int(newest or 0) + 1)
        self.lease = {**manifest, "metadata": {**manifest["metadata"], "uid": "1", "resourceVersion": version}}
        return True


class Operator:
    """Looks, thinks for a while, writes; its clocks are off by ``ahead`` seconds."""

    def __init__(self, name: str, store: Store, ahead: float) -> None:
        self.election, self.store, self.ahead = Election(KEY, name), store, ahead
        self.renewed_at = float("-inf")
        self._asked: tuple[Any, float] | None = None

    def holds(self, now: float) -> bool:
        return now + self.ahead < self.renewed_at + GIVE_UP_SECONDS

    def look(self, now: float) -> None:
        lease = self.store.lease
        self._asked = (lease, now + self.ahead) if not self.election.free_after(lease, now + self.ahead) else None

    def write(self, now: float) -> None:
        if self._asked is None:
            return
        (lease, asked_at), self._asked = self._asked, None
        if self.store.write(self.election.held(lease, START + timedelta(seconds=now + self.ahead))):
            self.renewed_at = asked_at


def both(ahead: float = 0.0) -> tuple[Store, dict[str, Operator]]:
    store = Store()
    return store, {"a": Operator("a", store, 0.0), "b": Operator("b", store, ahead)}


steps = st.tuples(st.sampled_from(NAMES), st.sampled_from(["look", "write"]), st.floats(0, 20))


@given(st.lists(steps, max_size=60), st.floats(-1e6, 1e6))
@example(
    [("a", "look", 0), ("a", "write", 0), ("b", "look", 0), ("b", "look", LEASE_SECONDS), ("b", "write", 0)], 3600.0
)
def test_no_two_lead_at_once(orders: Sequence[tuple[str, str, float]], ahead: float) -> None:
    _, operators = both(ahead)
    now = 0.0
    for name, what, pause in orders:
        now += pause
        getattr(operators[name], what)(now)
        assert sum(operator.holds(now) for operator in operators.values()) <= 1


def test_one_that_stops_renewing_is_followed_after_what_its_lease_says() -> None:
    store, operators = both()
    first, second = operators.values()
    first.look(0)
    first.write(0)
    second.look(1)
    second.look(LEASE_SECONDS)  # 14 s after it saw it first
    second.write(LEASE_SECONDS)
    assert holder_of(store.lease) == "a"
    second.look(1 + LEASE_SECONDS)
    second.write(1 + LEASE_SECONDS)
    assert holder_of(store.lease) == "b"
    assert store.lease["spec"]["leaseTransitions"] == 1


def test_one_that_renews_stays_and_says_since_when() -> None:
    store, operators = both()
    first, second = operators.values()
    for now in range(0, 60, 4):
        first.look(now)
        first.write(now)
        second.look(now + 1)
        second.write(now + 1)
    assert holder_of(store.lease) == "a"
    assert store.lease["spec"]["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert store.lease["spec"]["renewTime"] == "2026-01-01T00:00:56.000000Z"


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    store, operators = both()
    first, second = operators.values()
    first.look(0)
    first.write(0)
    assert store.write(first.election.given_back(store.lease))
    second.look(1)
    second.write(1)
    assert holder_of(store.lease) == "b"


def test_of_two_that_make_the_lease_one_is_refused() -> None:
    store, operators = both()
    for operator in operators.values():
        operator.look(0)
    for operator in operators.values():
        operator.write(0)
    assert holder_of(store.lease) == "a"
    assert not operators["b"].holds(0)


def test_transitions_count_each_change_of_the_leader_and_no_renewal() -> None:
    store, operators = both()
    first, second = operators.values()

    def lead(one: Operator, now: float) -> int:
        one.look(now)
        one.write(now)
        assert holder_of(store.lease) == one.election.identity
        return int(store.lease["spec"]["leaseTransitions"])

    def leave(one: Operator) -> None:
        assert store.write(one.election.given_back(store.lease))

    assert [lead(first, 0), lead(first, 4)] == [0, 0]
    leave(first)
    assert [lead(second, 5), lead(second, 9)] == [1, 1]
    leave(second)
    assert lead(first, 10) == 2
    assert store.lease["spec"]["acquireTime"] == "2026-01-01T00:00:10.000000Z"
