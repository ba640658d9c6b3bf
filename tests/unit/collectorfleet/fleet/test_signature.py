"""The constructor of FleetCollector: RayCollector's arguments and more, all of them declared by the options."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, get_type_hints

import pytest

from collectorfleet.fleet.collector import FleetCollector
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.signature import takes


@dataclass(frozen=True)
class Meal:
    """What is served.

    Args:
        soup: of the day.
    """

    soup: str
    cups_of_tea: int = 1

    def __post_init__(self) -> None:
        if self.cups_of_tea < 0:
            raise ValueError("cups_of_tea: fewer than 0")


class Guest:
    @takes(Meal)
    def __init__(self, meal: Meal) -> None:
        self.meal = meal


class Regular(Guest):
    def __init__(self, seat: int, **rest: Any) -> None:
        super().__init__(**rest)
        self.seat = seat


def test_the_body_gets_the_options_as_one_object() -> None:
    assert Guest("tomato", cups_of_tea=2).meal == Meal("tomato", cups_of_tea=2)
    assert Regular(4, soup="leek").meal == Meal("leek")


def test_the_signature_and_the_documentation_are_those_of_the_options() -> None:
    assert str(inspect.signature(Guest)) == "(soup: str, cups_of_tea: int = 1) -> None"
    assert get_type_hints(Guest.__init__) == {"soup": str, "cups_of_tea": int}
    assert Guest.__init__.__doc__ == Meal.__doc__
    assert Guest.__init__.__qualname__ == "Guest.__init__"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        pytest.param({"cup_of_tea": 2}, "an unexpected keyword argument 'cup_of_tea'; did you mean cups_of_tea?"),
        pytest.param({"cupsOfTea": 2}, "an unexpected keyword argument 'cupsOfTea'; did you mean cups_of_tea?"),
        pytest.param({"bread": True}, "an unexpected keyword argument 'bread'$"),
    ],
    ids=["misspelt", "as in a manifest", "like none of them"],
)
def test_an_unknown_argument_is_refused_with_the_one_that_was_probably_meant(
    given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TypeError, match=rf"Guest.__init__\(\) got {sentence.replace('?', '[?]')}"):
        Guest("tomato", **given)


def test_a_missing_argument_is_named_with_the_class_that_needs_it() -> None:
    with pytest.raises(TypeError, match=r"Guest.__init__\(\) missing a required argument: 'soup'"):
        Guest()  # type: ignore[call-arg]


def test_what_the_options_raise_stays_as_it_is() -> None:
    with pytest.raises(ValueError, match=r"^cups_of_tea: fewer than 0$"):
        Guest("tomato", cups_of_tea=-1)


def test_the_collector_takes_what_its_options_are() -> None:
    taken, options = inspect.signature(FleetCollector), inspect.signature(FleetOptions, eval_str=True)
    assert list(taken.parameters.values()) == list(options.parameters.values())


def test_whatever_raycollector_takes_is_taken_in_the_same_way_with_the_same_default() -> None:
    from torchrl.collectors.distributed import RayCollector

    ours = inspect.signature(FleetCollector.__init__).parameters
    theirs = inspect.signature(RayCollector.__init__).parameters
    positional = [name for name, parameter in theirs.items() if parameter.kind is not parameter.KEYWORD_ONLY]
    assert list(ours)[: len(positional)] == positional
    assert {name: (p.kind, p.default) for name, p in theirs.items() if name != "self"}.items() <= {
        name: (p.kind, p.default) for name, p in ours.items()
    }.items()
