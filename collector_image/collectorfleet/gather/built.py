"""Block the consumer's threads until collectors are built."""

from __future__ import annotations

from collectorfleet.gather.shared import Shared
from collectorfleet.gather.state.missing import described
from collectorfleet.messages import CollectorId
from collectorfleet_api.v1alpha1 import CollectorState


def wait_built(shared: Shared, timeout: float) -> dict[str, CollectorId]:
    """Block until every expected collector is built. Return the ids of the built collectors by name.

    Raises:
        TimeoutError: some collectors are not built within ``timeout`` seconds. The message names up to three of these
            collectors, and what each of them waits for.
        CollectorClosed: the gather was closed. If an error ended the run, the function raises this error instead.
    """
    living, slots = shared.gather.collectors, shared.slots

    def all_built() -> bool:
        # The comparison of counts is a cheap first check. The count of built collectors includes collectors of removed
        # slots. So described() has to confirm the result.
        return living.built_count >= slots.expected_count and not described(slots, living)

    with shared.changed:
        shared.wait_for(all_built, timeout)
        shared.raise_if_over()
        if sentence := described(slots, living):
            raise TimeoutError(sentence)
        return {one.id.name: one.id for one in living if one.state is not CollectorState.STARTING}


def wait_replaced(shared: Shared, lost: CollectorId, timeout: float) -> CollectorId | None:
    """Block until the replacement of the collector ``lost`` is built. Return the id of the replacement.

    Return None if the slot is given up or removed, or after ``timeout`` seconds. Raises CollectorClosed if the gather
    was closed. If an error ended the run, raises this error.
    """
    living, slots = shared.gather.collectors, shared.slots

    def other() -> CollectorId | None:
        one = living.named(lost.name)
        is_other = one is not None and one.id != lost and one.state is not CollectorState.STARTING
        return one.id if one is not None and is_other else None

    def is_given_up() -> bool:
        slot = slots.by_name.get(lost.name)
        return slot is None or slot.given_up

    with shared.changed:
        shared.wait_for(lambda: other() or is_given_up(), timeout)
        shared.raise_if_over()
        return other()
