"""What DriverRunning says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.collectorfleet_operator.world import DRIVER, World, running, started, told

from collectorfleet_api.v1alpha1 import Phase
from collectorfleet_operator.children.driver_job import JOB
from collectorfleet_operator.decide.driver_lost import LOST_AFTER
from collectorfleet_operator.decide.situation import Warned
from collectorfleet_operator.objects import uid_of


def test_a_warning_about_a_child_explains_pods_that_never_come() -> None:
    world = World()
    world.carry_out()
    warned = Warned(uid_of(world.get(JOB, DRIVER)), "FailedCreate", "exceeded quota: gpus", world.now)
    seen = world.look(warnings=[warned])
    assert told(seen, "DriverRunning") == ("False", "FailedCreate", "exceeded quota: gpus")


def test_a_lease_that_is_not_renewed_is_a_lost_driver() -> None:
    world = running()
    world.seconds = LOST_AFTER.total_seconds() + 1
    seen = world.look()
    assert told(seen, "DriverRunning")[:2] == ("False", "DriverLost")
    assert told(seen, "CollectorsAvailable")[:2] == ("False", "DriverNotRunning")
    assert told(seen, "Ready")[:2] == ("False", "DriverLost")
    assert seen.phase is Phase.DEGRADED
    assert seen.replicas == 0


def test_a_lease_of_an_earlier_driver_says_nothing_about_this_one() -> None:
    world = running()
    world.renew_lease(holder="cheetah-driver-before")
    world.seconds = 10 * LOST_AFTER.total_seconds()
    assert told(world.look(), "DriverRunning")[0] == "True"


def test_a_failed_driver_is_tried_again_and_says_why() -> None:
    world = running()
    world.end_driver(1, "the head at cheetah-head-svc:6379 is gone")
    job = world.get(JOB, DRIVER)
    world.store({**job, "status": {"failed": 1}})
    seen = world.look()
    status, reason, message = told(seen, "DriverRunning")
    assert (status, reason) == ("False", "Restarting")
    assert message.endswith("failed (1 of 7 tries): the head at cheetah-head-svc:6379 is gone")
    assert seen.driver is not None
    assert seen.driver.restarts == 1


def test_the_last_driver_of_a_fleet_that_failed_was_not_started_again() -> None:
    world = running()
    world.end_driver(64, "script train.py: ValueError: no such game")
    job = world.get(JOB, DRIVER)
    over = {"type": "Failed", "status": "True", "lastTransitionTime": "2026-07-22T12:00:00Z"}
    world.store({**job, "status": {"failed": 1, "conditions": [over]}})
    seen = world.look()
    assert seen.phase is Phase.FAILED
    assert seen.driver is not None
    assert seen.driver.restarts == 0


def test_the_log_of_a_driver_without_a_last_word_is_read_from_its_end() -> None:
    world = running()
    world.end_driver(1, 'Traceback (most recent call last):\n  File "x.py"\nConnectionError: no route to host\n')
    assert told(world.look(), "DriverRunning")[2].endswith(": ConnectionError: no route to host")


TRACEBACK = 'Traceback (most recent call last):\n  File "x.py"\n    y()\n'


@pytest.mark.parametrize(
    ("code", "left", "told_as"),
    [
        pytest.param(1, f"7\nversion 15\n{TRACEBACK}ValueError: no\n", "ValueError: no", id="a log with an exception"),
        pytest.param(
            1, f"{TRACEBACK}KeyError: 'a'\n{TRACEBACK}ValueError: no\n", "ValueError: no", id="two exceptions"
        ),
        pytest.param(1, f"{TRACEBACK}ValueError: no\nnote\nbye\n", "ValueError: no", id="what is written after it"),
        pytest.param(
            3,
            "ersion 14\napplied version 15\n",
            "it ended with exit code 3 and without an exception; the last line of its log: applied version 15",
            id="a log without an exception",
        ),
        pytest.param(1, f"train t:t: no\n\n{TRACEBACK}ValueError: no\n", "train t:t: no", id="its own message"),
        pytest.param(1, f"train t:t: no\n{TRACEBACK}ValueError: no\n", "train t:t: no", id="of an earlier release"),
        pytest.param(1, "train t:t: no\n\n in train\nValueError: no\n", "train t:t: no", id="with half a traceback"),
        pytest.param(
            7,
            "7\n",
            "it ended with exit code 7 and without an exception; the last line of its log: 7",
            id="a log of one line",
        ),
        pytest.param(
            1,
            "version 15\n",
            "it ended with exit code 1 and without an exception; the last line of its log: version 15",
            id="a log of one line, and an exit code of the driver's",
        ),
        pytest.param(1, "error: X: 'y' is no z\n", "error: X: 'y' is no z", id="a driver that cannot begin"),
        pytest.param(
            139,
            "7\nversion 15\n",
            "its process was ended by SIGSEGV without an error message; the last line of its log: version 15",
            id="a signal, and a log without an error",
        ),
    ],
)
def test_a_driver_that_failed_is_told_by_its_message_or_by_the_exception_in_its_log(
    code: int, left: str, told_as: str
) -> None:
    world = running()
    world.end_driver(code, left)
    assert told(world.look(), "DriverRunning")[2].endswith(f": {told_as}")


@pytest.mark.parametrize(
    ("checkpoint", "said"),
    [
        pytest.param({}, ": the driver started over, because spec.driver.checkpoint is not set", id="starts over"),
        pytest.param({"spec.driver.checkpoint": {"claimName": "cheetah"}}, "", id="goes on"),
    ],
)
def test_a_driver_that_was_started_again_says_what_was_lost(checkpoint: dict[str, Any], said: str) -> None:
    world = running(checkpoint)
    before = told(world.look(), "DriverRunning")[2]
    starting = {"desired": 4, "available": 0, "summary": "0/4"}
    world.report(0, driverIncarnation=2, progress={"collectors": starting})
    # It repeats what the driver before it said until it knows better.
    assert told(world.look(), "DriverRunning")[2] == f"{before}; this is the fleet's driver number 2"
    there = {"desired": 4, "available": 4, "summary": "4/4"}
    world.report(4, driverIncarnation=2, progress={"framesLost": 800, "collectors": there})
    assert told(world.look(), "DriverRunning") == (
        *("True", "Running"),
        f"{before}; this is the fleet's driver number 2, and earlier drivers lost 800 frames{said}",
    )


def test_a_driver_that_was_started_again_says_what_its_replay_buffer_has_no_more() -> None:
    world = running({"spec.driver.checkpoint": {"claimName": "cheetah"}})
    there = {"desired": 4, "available": 4, "summary": "4/4"}
    counts = {"framesLost": 800, "replayBufferFramesLost": 9000, "collectors": there}
    world.report(4, driverIncarnation=2, progress=counts)
    assert told(world.look(), "DriverRunning")[2].endswith(
        "; this is the fleet's driver number 2, and earlier drivers lost 800 frames, and 9000 frames of the replay "
        "buffer"
    )


def begun() -> World:
    """The driver's container began at noon, and has no Lease."""
    world = started()
    (pod,) = world.pods("driver")
    state = {"running": {"startedAt": "2026-07-01T12:00:00Z"}}
    world.set_pod(pod, phase="Running", containerStatuses=[{"name": "driver", "state": state}])
    return world


def test_a_driver_that_never_takes_its_lease_counts_as_lost() -> None:
    world = begun()
    world.seconds = 90
    assert told(world.look(world.now), "DriverRunning")[0] == "True"
    assert world.plan().again_after == timedelta(seconds=30)
    world.seconds = 120
    status, reason, message = told(world.look(world.now), "DriverRunning")
    assert (status, reason) == ("False", "DriverLost")
    assert "has run for 120 s without Lease cheetah-driver" in message
    world.renew_lease()
    assert told(world.look(world.now), "DriverRunning")[0] == "True"


def test_a_driver_that_ends_and_has_given_its_lease_back_is_not_lost_before_it_hangs() -> None:
    world = begun()
    world.renew_lease()
    world.seconds = 600
    world.give_lease_back()
    assert told(world.look(world.now), "DriverRunning")[0] == "True"
    assert world.plan().again_after == timedelta(seconds=120)
    world.seconds += 120
    assert told(world.look(world.now), "DriverRunning")[1] == "DriverLost"


def test_the_stack_of_a_process_that_aborted_is_no_cause() -> None:
    world = running()
    tail = (
        "pin.cc:90 worker\n[2026-07-01 12:00:00,001 C 7 7] gcs_client.cc:184: Failed to connect to GCS within 60 s\n"
        "*** StackTrace Information ***\n/usr/lib/ray/_raylet.so(+0x17e) [0x7f] ray::operator<<()\n)()\n"
    )
    # Ray's own code ends a process with 1 as well.
    for code in (134, 1):
        world.end_driver(code, tail)
        assert told(world.look(), "DriverRunning")[2].endswith("Failed to connect to GCS within 60 s")


def test_where_only_the_stack_of_a_process_is_left_that_is_said() -> None:
    """As when the head is lost: of a driver that says nothing itself Kubernetes keeps the last 2 KiB."""
    world = running()
    stack = "/opt/packages/ray/_raylet.so(+0x1812b9a) [0x7fc857a12b9a] ray::operator<<()\n"
    world.end_driver(1, f")()\n{25 * stack}/lib/x86_64-linux-gnu/libc.so.6(__clone+0x40) [0x7fc93ed26b50] clone\n")
    assert told(world.look(), "DriverRunning")[2].endswith(
        "its process crashed in native code, with exit code 1; its log has the reason above the stack"
    )


def test_a_driver_that_somebody_kills_is_not_told_by_what_it_did_last() -> None:
    world = running()
    world.end_driver(137, "c1 failed to answer within 9 s\nc0 applied version 7\n")
    message = told(world.look(), "DriverRunning")[2]
    assert message.endswith("its process was ended by SIGKILL; the last line of its log: c0 applied version 7")


@pytest.mark.parametrize(
    ("code", "conditions"),
    [
        pytest.param(143, [], id="deleted, and ended in order"),
        pytest.param(137, [{"type": "DisruptionTarget", "status": "True"}], id="evicted"),
    ],
)
def test_an_end_that_the_job_does_not_count_is_no_failed_try(code: int, conditions: list[dict[str, str]]) -> None:
    world = running()
    world.end_driver(code, "stopped: SIGTERM")
    [pod] = world.pods("driver")
    world.set_pod(pod, **pod["status"], conditions=conditions)
    status, reason, message = told(world.look(), "DriverRunning")
    assert (status, reason) == ("False", "Starting")
    assert message.endswith(
        "was deleted or evicted, and the next driver pod is about to start (spec.backoffLimit does not count this loss)"
    )


def test_a_driver_that_the_kubelet_kills_is_told_in_the_kubelets_words() -> None:
    world = running()
    world.end_driver(137, "c0 applied version 7\n")
    [pod] = world.pods("driver")
    world.set_pod(pod, **pod["status"], reason="Evicted", message="The node was low on resource: memory.")
    assert told(world.look(), "DriverRunning")[2].endswith("The node was low on resource: memory.")
