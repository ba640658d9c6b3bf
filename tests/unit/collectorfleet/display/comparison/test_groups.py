"""Which runs repeat each other, and what groups are called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.collectorfleet.display.comparison.made_runs import run

from collectorfleet.display.comparison.groups import Group, grouped
from collectorfleet.display.comparison.leaves import seeds
from collectorfleet.display.comparison.runs import Run
from collectorfleet.timeline.timeline import Earlier


def sizes(*runs: Run) -> dict[str, int]:
    return {group.name: group.count for group in grouped(runs)}


def test_runs_that_differ_by_seed_alone_are_one_group_named_by_what_differs_from_others() -> None:
    assert sizes(run(lr=1e-3, seed=0), run(lr=1e-3, seed=1), run(lr=2e-3, seed=0)) == {"lr=0.001": 2, "lr=0.002": 1}


@pytest.mark.parametrize("name", ["seed", "env_seed", "torchSeed"])
def test_a_seed_is_found_by_its_name_wherever_it_is(name: str) -> None:
    both = [
        run(configuration={"environment": {"kwargs": {"inner": {name: n}}}, "driver": {"args": []}}) for n in (1, 2)
    ]
    assert sizes(*both) == {"cartpole": 2}
    assert [seeds(one.configuration) for one in both] == ["1", "2"]


@pytest.mark.parametrize(
    "both",
    [
        pytest.param((["--seed=1", "--lr=3"], ["--seed=2", "--lr=3"]), id="one word"),
        pytest.param((["--seed", "1", "--lr=3"], ["--seed", "2", "--lr=3"]), id="two words"),
        pytest.param((["--lr=3", "--torch-seed", "1"], ["--lr=3", "--torch-seed=2"]), id="another name"),
    ],
)
def test_the_seed_among_the_arguments_of_a_script_is_one(both: tuple[list[str], list[str]]) -> None:
    made = [run(configuration={"driver": {"script": "a.py", "args": args}}) for args in both]
    assert sizes(*made) == {"cartpole": 2}
    assert [seeds(one.configuration) for one in made] == ["1", "2"]
    other = run(configuration={"driver": {"script": "a.py", "args": ["--seed=1", "--lr=4"]}})
    assert sizes(*made, other) == {'args=["--lr=3"]': 2, 'args=["--lr=4"]': 1}


def test_a_seed_in_the_environment_of_a_group_of_collectors_is_one() -> None:
    def made(seed: int, level: str = "easy") -> Run:
        groups = [{"name": "a", "environment": {"kwargs": {"level": level, "seed": seed}}}]
        return run(configuration={"collectors": {"groups": groups}})

    assert sizes(made(1), made(2), made(1, "hard")) == {"level=easy": 2, "level=hard": 1}
    assert seeds(made(2).configuration) == "2"


@pytest.mark.parametrize(
    ("name", "values"), [("useSeed", [True, False]), ("seed", ["random", "fixed"]), ("seed", [[1], [2]])]
)
def test_a_seed_is_an_integer(name: str, values: list[Any]) -> None:
    made = [run(**{name: value}) for value in values]
    assert [group.count for group in grouped(made)] == [1, 1]
    assert seeds(made[0].configuration) == ""


@pytest.mark.parametrize("flag", ["--use-seed", "--seed"])
def test_a_flag_without_an_integer_is_no_seed_and_takes_no_other_argument(flag: str) -> None:
    made = [run(configuration={"driver": {"args": [flag, f"--lr={lr}"]}}) for lr in (3, 4)]
    assert sizes(*made) == {f'args=["{flag}", "--lr={lr}"]': 1 for lr in (3, 4)}


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), ([64, 64], [64.0, 64]), ({"seed": 1}, {"seed": 2.0})])
def test_equal_numbers_are_one_configuration(one: Any, other: Any) -> None:
    assert [group.count for group in grouped([run(a=one), run(a=other)])] == [2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("64", 64),
        ("null", None),
        ("true", True),
        (True, 1),
        ('"64"', "64"),
        ("[1]", [1]),
        ([1], [True]),
        ({"a.b": 1}, {"a": {"b": 1}}),
    ],
)
def test_a_text_and_another_value_are_two_configurations_with_two_names(one: Any, other: Any) -> None:
    assert len(sizes(run(a=one), run(a=other))) == 2


def test_a_text_that_reads_as_not_set_differs_from_no_value() -> None:
    assert sizes(run(a="not set"), run()) == {'a="not set"': 1, "a=not set": 1}


def test_groups_whose_names_are_cut_alike_have_their_letters() -> None:
    made = [run(d=f"{'x' * 50}{n}") for n in (1, 2)]
    assert list(sizes(*made)) == [f"d={'x' * 39}… ({letter})" for letter in "AB"]


def test_seeds_of_evaluations_are_a_part_of_what_is_measured() -> None:
    made = [run(configuration={"evaluation": {"seeds": [n]}}) for n in (0, 1)]
    assert sizes(*made) == {"seeds=[0]": 1, "seeds=[1]": 1}


def test_a_value_that_one_group_lacks_is_not_set_in_its_name() -> None:
    assert sizes(run(lr=1), run()) == {"lr=1": 1, "lr=not set": 1}


def test_names_of_two_fields_that_end_alike_are_longer() -> None:
    def made(environment: int, policy: int) -> Run:
        return run(configuration={"environment": {"kwargs": {"n": environment}}, "policy": {"kwargs": {"n": policy}}})

    assert list(sizes(made(1, 1), made(2, 2))) == [
        "environment.kwargs.n=1, policy.kwargs.n=1",
        "environment.kwargs.n=2, policy.kwargs.n=2",
    ]


def test_a_name_has_at_most_three_differences_and_the_group_has_all() -> None:
    first, _ = grouped([run(a=1, b=1, c=1, d="x" * 50), run(a=2, b=2, c=2, d="y")])
    assert first.name == "a=1, b=1, c=1, 1 more"
    assert list(first.differences) == [f"driver.train.kwargs.{name}" for name in "abcd"]
    (long, _) = grouped([run(d="x" * 50), run(d="y")])
    assert long.name == f"d={'x' * 39}…"


def changed_at(frames: int, run: Run, before: Run) -> Run:
    """``run``, whose first frames had the configuration of ``before``."""
    assert before.configuration is not None
    earlier = [Earlier(until_frames=frames, configuration=before.configuration)]
    return replace(run, timeline=run.timeline.model_copy(update={"earlier": earlier}))


def test_a_run_that_was_edited_and_resumed_is_a_group_of_its_own() -> None:
    edited = changed_at(400, run("edited", lr=0.001), run(lr=0.1))
    assert sizes(run("plain", lr=0.001), edited) == {"lr=0.001": 1, "lr=0.1, then 0.001": 1}
    assert sizes(edited) == {"lr=0.1, then 0.001": 1}
    again = changed_at(800, run("again", lr=0.001), run(lr=0.1))
    assert sizes(edited, again) == {"lr=0.1, then 0.001 (A)": 1, "lr=0.1, then 0.001 (B)": 1}


def test_a_run_that_resumed_with_another_seed_has_one_configuration() -> None:
    resumed = changed_at(400, run("resumed", lr=0.001, seed=2), run(lr=0.001, seed=1))
    assert sizes(run("plain", lr=0.001, seed=3), resumed) == {"cartpole": 2}


def test_a_run_of_an_older_version_is_a_group_of_its_own() -> None:
    old = Run("old", run().timeline)
    assert sizes(run("new", lr=1), old) == {"cartpole": 1, "old (configuration unknown)": 1}


@pytest.mark.parametrize("value", [None, [], {}, [1, {"a": 2}], "text", True, 1.5])
def test_any_value_can_be_compared(value: Any) -> None:
    groups = grouped([run(a=value, seed=1), run(a=value, seed=2), run(a="other")])
    assert [group.count for group in groups] == [2, 1]
    assert isinstance(groups[0], Group)
