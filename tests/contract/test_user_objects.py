"""What transports whose collectors are processes do with objects of the user that cannot travel, or end a thread."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from tensordict import TensorDictBase
from tests import envs
from tests.contract.harness import C0, FRAMES, PLAIN, Harness, over_a_process_group, over_rpc, running

from collectorfleet.actor.inbox import Inbox, Offer
from collectorfleet.errors import InvalidOption
from collectorfleet.messages import Failed, Lost, Raised, Returned

PROCESSES = {"process_group": over_a_process_group, "rpc": over_rpc}


@pytest.fixture(params=list(PROCESSES))
def processes(request: pytest.FixtureRequest) -> Iterator[Harness]:
    with running(PROCESSES[request.param]) as made:
        yield made


class Unpickled:
    """``call`` is called where it is unpickled."""

    def __init__(self, call: Callable[..., Any], *arguments: Any) -> None:
        self._call = call, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self._call


class Stays:
    """Pickles nowhere."""

    def __reduce__(self) -> NoReturn:
        raise TypeError("it stays where it is")


def leave(code: int) -> NoReturn:
    raise SystemExit(code)


def mark_with_what_stays(batch: TensorDictBase) -> TensorDictBase:
    """A hook that leaves what cannot travel."""
    return batch.set_non_tensor("stays", Stays())


def make_in_a_process_that_cannot_load() -> envs.Counting:
    """Weights that are offered end the thread that loads them."""

    def load(_inbox: Inbox, _offered: Offer) -> NoReturn:
        raise SystemExit(3)

    Inbox.offer = load  # type: ignore[method-assign]  # of this process, which the collector has for itself
    return envs.Counting()


def test_an_environment_that_cannot_be_pickled_is_refused_before_a_process_begins(processes: Harness) -> None:
    lock = threading.Lock()
    processes.config = replace(PLAIN, create_env=lambda: lock)
    with pytest.raises(
        InvalidOption, match=r"create_env_fn: .* the collectors' processes: TypeError: cannot pickle '_thread.lock'"
    ):
        processes.transport.start(C0)


def test_a_policy_that_cannot_be_pickled_is_refused_at_once(processes: Harness) -> None:
    with pytest.raises(InvalidOption, match=r"policy: .*TypeError: it stays where it is"):
        processes.use_policy(Stays())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "arguments", "cause"),
    [
        pytest.param(ctypes.CDLL, ("libnobodyhas.so",), "OSError: libnobodyhas.so: ", id="a library that is missing"),
        pytest.param(open, ("/nowhere/rom",), "FileNotFoundError: ", id="a file that is missing"),
        pytest.param(leave, (2,), "SystemExit: 2", id="a script without a guard"),
    ],
)
def test_what_an_environment_raises_where_it_is_unpickled_is_told(
    processes: Harness, call: Any, arguments: Any, cause: str
) -> None:
    processes.config = replace(PLAIN, create_env=Unpickled(call, *arguments))
    processes.transport.start(C0)
    raised = processes.hear(Raised)
    assert raised.where == "unpickling the environment or the options"
    assert raised.cause.startswith(cause)
    assert not raised.by_environment


def test_a_policy_that_cannot_be_unpickled_is_told_from_an_environment(processes: Harness) -> None:
    processes.use_policy(Unpickled(ctypes.CDLL, "libnobodyhas.so"))  # type: ignore[arg-type]
    processes.transport.start(C0)
    raised = processes.hear(Raised)
    assert raised.where == "unpickling the policy"
    assert raised.cause.startswith("OSError: libnobodyhas.so: ")


def test_frames_that_cannot_be_pickled_are_told(processes: Harness) -> None:
    processes.config = replace(PLAIN, options={"postproc": mark_with_what_stays})
    processes.start()
    processes.ask(C0)
    raised = processes.hear(Raised)
    assert raised.where == "frames"
    assert raised.cause == (
        "TypeError: the entry stays cannot be pickled for the driver: TypeError: it stays where it is; leave this "
        "entry out of the frames"
    )


def test_a_thread_that_ends_is_told_and_not_waited_for(processes: Harness) -> None:
    processes.config = replace(PLAIN, create_env=make_in_a_process_that_cannot_load)
    processes.start()
    processes.transport.offer(C0, processes.store(1, 1.0))
    assert processes.hear(Lost).cause == "SystemExit: 3"


def test_a_question_that_cannot_be_read_there_or_an_answer_here_is_a_failed_one(processes: Harness) -> None:
    processes.start()
    transport: Any = processes.transport
    asked = transport.ask(C0, "execute", "reset", [Unpickled(ctypes.CDLL, "libnobodyhas.so")], {})
    failed = transport.answer(asked, 30)
    assert isinstance(failed, Failed)
    assert failed.cause.startswith("OSError: libnobodyhas.so: ")
    failed = transport.answer(transport.ask(C0, "attribute", "rollout"), 30)
    assert isinstance(failed, Failed)
    assert failed.cause.startswith("TypeError: cannot pickle")
    asked = transport.ask(C0, "attribute", "frames_per_batch")
    assert transport.answer(asked, 30) == Returned(FRAMES)  # it goes on
