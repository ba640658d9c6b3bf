"""An option of a fleet, its default and its rules are the same in a manifest and in Python, or it says here why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import reduce
from types import SimpleNamespace
from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo
from tests.combinations import GO_TOGETHER, REFUSED
from tests.manifests import ABSENT, fleet
from tests.unit.collectorfleet.run.one_sided import (
    FIELDS_ONLY_IN_MANIFESTS,
    LEAST_ONLY_IN_MANIFESTS,
    LEAST_ONLY_IN_PYTHON,
    OPTIONS_ONLY_IN_PYTHON,
    OTHER_DEFAULTS,
    RULES_ONLY_IN_MANIFESTS,
    RULES_ONLY_IN_PYTHON,
    TAKEN_IN_PYTHON,
)
from torch import nn

from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.rules.collectors import FLEETS_OWN
from collectorfleet.fleet.rules.table import RULES
from collectorfleet.option_ranges import Range
from collectorfleet.option_types import hints_of, members
from collectorfleet.run.collector_options import ARGUMENTS, Built, Derived, Plain, collector_options
from collectorfleet_api.names import WORKER_GROUP
from collectorfleet_api.rules.collector_kwargs import FIELDS
from collectorfleet_api.rules.combinations.table import COMBINATIONS
from collectorfleet_api.rules.validation import CHECKS
from collectorfleet_api.schema.crd import schema
from collectorfleet_api.v1alpha1 import CollectorFleetSpec, Factory, Model
from collectorfleet_api.v1alpha1.base import inner_model

PARTS = ("environment", "policy", "collection", "collectors", "weights", "replayBuffer")


# ---------------------------------------------------------------- the walk
def leaves(model: type[Model], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every field below ``model`` that is not a part with fields of its own; a factory is one field."""
    for name, field in model.model_fields.items():
        path, inner = f"{prefix}{field.alias or name}", inner_model(field.annotation)
        if inner is None or get_origin(field.annotation) is list:
            yield path, field
        elif issubclass(inner, Factory):
            yield path, field
            own = inner.model_fields.keys() - Factory.model_fields.keys()
            yield from ((f"{path}.{leaf.alias}", leaf) for key, leaf in inner.model_fields.items() if key in own)
        else:
            yield from leaves(inner, f"{path}.")


LEAVES = {path: field for path, field in leaves(CollectorFleetSpec) if path.partition(".")[0] in PARTS}
DEFAULTS = {field.name: field.default for field in fields(FleetOptions)}


def test_the_walk_finds_fields_of_every_part() -> None:
    assert {path.partition(".")[0] for path in LEAVES} == set(PARTS)


def test_each_field_of_a_manifest_is_an_argument() -> None:
    assert LEAVES.keys() - ARGUMENTS.keys() == FIELDS_ONLY_IN_MANIFESTS.keys()
    assert ARGUMENTS.keys() - LEAVES.keys() == set()


def test_each_argument_is_a_field_of_a_manifest_and_of_one_only() -> None:
    named = [row.argument for row in ARGUMENTS.values()]
    assert len(named) == len(set(named))
    assert DEFAULTS.keys() - set(named) == OPTIONS_ONLY_IN_PYTHON.keys()
    assert set(named) - DEFAULTS.keys() == set()


def test_a_field_that_is_left_out_means_what_an_argument_that_is_left_out_does() -> None:
    said = collector_options(fleet({"spec.collectors": ABSENT, "spec.collection.mode": ABSENT}).spec, {WORKER_GROUP: 0})

    def same(path: str, argument: str) -> bool:
        default = DEFAULTS[argument]
        if LEAVES[path].is_required():
            return default is MISSING
        return bool(said[argument] == default) if argument in said else default in (None, -1)

    differing = {path for path, row in ARGUMENTS.items() if not same(path, row.argument)}
    assert differing == OTHER_DEFAULTS.keys()


def _least(path: str, spec: dict[str, Any]) -> int | None:
    node = reduce(lambda inner, part: inner["properties"][part], path.split("."), spec)
    least: int | None = node.get("minimum") if "type" in node else None  # a quantity has none
    return least


def _has_least(hint: Any) -> bool:
    limits = [limit for one in members(hint) if get_origin(one) is Annotated for limit in get_args(one)[1:]]
    return any(isinstance(limit, Range) and limit.least is not None for limit in limits)


def _refusal(row: Plain | Derived | Built, value: Any) -> str:
    said = row.convert(value) if isinstance(row, Plain) else value
    try:
        FleetOptions(**{"create_env_fn": len, "frames_per_batch": 24, "sync": True, row.argument: said})
    except InvalidOption as refused:
        return str(refused)
    return ""


def test_a_number_has_the_same_least_value() -> None:
    spec = schema()["properties"]["spec"]
    least = {path: number for path in ARGUMENTS if (number := _least(path, spec)) is not None}
    arguments = {path: ARGUMENTS[path].argument for path in least}
    bounded = {name for name, hint in hints_of(FleetOptions).items() if _has_least(hint)}
    assert bounded - set(arguments.values()) == LEAST_ONLY_IN_PYTHON.keys()
    too_small = {path: _refusal(ARGUMENTS[path], number - 1) for path, number in least.items()}
    taken = {path for path, refusal in too_small.items() if not refusal.startswith(f"{arguments[path]}: ")}
    assert taken == LEAST_ONLY_IN_MANIFESTS.keys()
    enough = {path: _refusal(ARGUMENTS[path], number) for path, number in least.items()}
    assert {path for path, refusal in enough.items() if "is too small" in refusal} == set()


def test_each_rule_is_one_of_both_sides() -> None:
    manifests = {*CHECKS, *(combination.name for combination in COMBINATIONS)} - {"combinations"}
    python = {rule.name for rule in RULES}
    assert manifests - python == RULES_ONLY_IN_MANIFESTS.keys()
    assert python - manifests == RULES_ONLY_IN_PYTHON.keys()


def test_what_the_fleet_gives_torchrls_collector_itself_no_manifest_may_give_either() -> None:
    assert FLEETS_OWN.keys() <= FIELDS.keys()


# ---------------------------------------------------------------- the same manifests, said in Python
def in_python(spec: CollectorFleetSpec) -> FleetOptions:
    """The options of ``spec``, with something for what the user's factories would build."""
    built = {row.argument: row for path, row in ARGUMENTS.items() if isinstance(row, Built) and spec.at(path)}
    stand_ins = {name: {} if name == "models" else SimpleNamespace(service_backend="ray") for name in built}
    gpus = {name: spec.of_group(name).collectors.resources.gpu for name in spec.group_names}
    policy = None if spec.policy is None else nn.Identity()
    return FleetOptions(**collector_options(spec, gpus) | stand_ins | {"policy": policy})


@pytest.mark.parametrize("changes", GO_TOGETHER)
def test_what_goes_together_in_a_manifest_goes_together_in_python(changes: dict[str, Any]) -> None:
    spec = fleet(changes).spec
    assert in_python(spec).frames_per_batch == spec.collection.frames_per_batch


def _refused_by_both(changes: dict[str, Any]) -> bool:
    spec = fleet(changes).spec
    broken = {combination.name for combination in COMBINATIONS if not combination.holds(spec)}
    return bool(broken - RULES_ONLY_IN_MANIFESTS.keys())


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(case.values[0], id=case.id)
        for case in REFUSED
        if _refused_by_both(case.values[0]) and case.id not in TAKEN_IN_PYTHON
    ],
)
def test_what_a_manifest_refuses_by_a_rule_of_both_sides_python_refuses_too(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        in_python(fleet(changes).spec)


@pytest.mark.parametrize(
    "changes", [pytest.param(case.values[0], id=case.id) for case in REFUSED if case.id in TAKEN_IN_PYTHON]
)
def test_what_python_takes_of_it_is_as_good_as_not_said(changes: dict[str, Any]) -> None:
    assert in_python(fleet(changes).spec).collectors == 4
