"""What is looked up in the user's code before it is called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from collectorfleet.fleet.collector_configs import BatchedEnvironmentFactory
from collectorfleet.user_code import Factory, accepts, takes

HERE = __name__


def plain(collector_index: int, other: int = 0) -> int:
    return collector_index


def by_name(*, collector_index: int = 0) -> int:
    return collector_index


def anything(*args: Any, **kwargs: Any) -> None:
    """Takes it, but not by a parameter of that name."""


def by_place(collector_index: int, /) -> int:
    return collector_index


@functools.wraps(plain)
def wrapped(*args: Any, **kwargs: Any) -> int:
    return plain(*args, **kwargs)


class Built:
    def __init__(self, collector_index: int) -> None:
        self.index = collector_index


@pytest.mark.parametrize(
    "code",
    [
        plain,
        by_name,
        wrapped,
        Built,
        partial(plain, other=1),
        Factory(f"{HERE}:plain"),
        BatchedEnvironmentFactory(plain, 2),
        BatchedEnvironmentFactory(Factory(f"{HERE}:plain"), 2),
    ],
)
def test_a_parameter_of_that_name_is_found(code: Callable[..., Any]) -> None:
    assert takes(code, "collector_index")


@pytest.mark.parametrize(
    "code",
    [
        anything,
        by_place,
        dict,
        partial(plain, 1),
        partial(plain, collector_index=1),
        Factory(f"{HERE}:plain", {"collector_index": 1}),
        BatchedEnvironmentFactory(partial(plain, collector_index=1), 2),
    ],
)
def test_what_is_given_already_or_not_named_is_not(code: Callable[..., Any]) -> None:
    assert not takes(code, "collector_index")


def test_a_factory_takes_further_arguments() -> None:
    assert Factory(f"{HERE}:plain", {"other": 1})(collector_index=4) == 4


@functools.wraps(plain)
def hides() -> int:
    return plain(7)


class Permissive:
    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self) -> None: ...


def test_a_decorator_that_hides_the_parameter_is_believed() -> None:
    assert not takes(hides, "collector_index")
    assert not takes(Permissive(), "collector_index")


def test_code_accepts_a_parameter_of_that_name_or_any_keyword_argument() -> None:
    def named(process: object) -> None: ...
    def any_keyword(**arguments: object) -> None: ...
    def none(length: int) -> None: ...

    assert accepts(named, "process")
    assert accepts(any_keyword, "process")
    assert accepts(partial(any_keyword, length=1), "process")
    assert not accepts(none, "process")
    assert not accepts(Factory("collections:namedtuple", {"process": 1}), "process")
