"""The base class and the common types of all models of the resource."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.alias_generators import to_camel

from collectorfleet_api.times import EARLIEST_YEAR, LATEST_YEAR, LONGEST_SECONDS, is_plausible
from collectorfleet_api.v1alpha1.types import ObjectName

_IS_STORED: Final = "is_stored"


class Model(BaseModel):
    """A part of the resource. Attributes are snake_case in Python and camelCase in manifests.

    Models are immutable and refuse unknown fields.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        # Kubernetes refuses text such as "0.25" where a number is expected.
        strict=True,
        allow_inf_nan=False,
    )

    @classmethod
    def from_wire(cls, obj: dict[str, Any], *, ignore_unknown: bool = False) -> Self:
        """Return the model of a JSON object from a manifest or from the API server.

        Set ``ignore_unknown`` for stored objects to drop unknown fields, because the installed CRD may be newer.
        Durations may then be longer than the maximum, because the CRD may have had none.
        Raises pydantic.ValidationError.
        """
        # In strict mode, pydantic converts strings to enums and times only if the input is JSON.
        return cls.model_validate_json(
            json.dumps(whole_floats_to_int(cls._without_nulls(obj))),
            by_alias=True,
            by_name=False,
            extra="ignore" if ignore_unknown else None,
            context={_IS_STORED: ignore_unknown},
        )

    @classmethod
    def _without_nulls(cls, obj: Any) -> Any:
        # The API server treats a null field as absent, for example `kwargs:` whose lines are all commented out.
        if not isinstance(obj, dict):
            return obj
        inner = _inner_models(cls)
        return {
            key: _mapped(model._without_nulls, value) if (model := inner.get(key)) else value
            for key, value in obj.items()
            if value is not None or key not in inner
        }

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON object as the API server stores it, without absent fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def at(self, path: str) -> Any:
        """Return the value at a path such as ``stragglers.firstShares``, or None if a part of the path is absent.

        Raises KeyError for a path that this model does not have.
        """
        alias, _, rest = path.partition(".")
        attribute = {field.alias: name for name, field in type(self).model_fields.items()}[alias]
        value = getattr(self, attribute)
        return value.at(rest) if rest and value is not None else value


class LocalObjectReference(Model):
    name: ObjectName = Field(description="Name of the object, in the fleet's namespace.")


def inner_model(annotation: Any) -> type[Model] | None:
    """Return the model in a field's annotation, or None if the annotation has no model.

    Examples of annotations with a model: ``Train | None``, ``list[CollectorStatus]``.
    """
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    return next((found for part in get_args(annotation) if (found := inner_model(part))), None)


@functools.cache
def _inner_models(model: type[Model]) -> Mapping[str | None, type[Model] | None]:
    """Return the models of a model's fields, by the fields' names in manifests.

    The cache halves the time to read a fleet, because the search through annotations is slow.
    """
    return {field.alias: inner_model(field.annotation) for field in model.model_fields.values()}


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    return [function(item) for item in value] if isinstance(value, list) else function(value)


def whole_floats_to_int(value: Any) -> Any:
    """Return ``value`` with all whole floats converted to integers, also in mappings and lists.

    JSON and Kubernetes do not distinguish whole floats from integers: ``totalFrames: 1e6`` is an integer. The API
    server also returns the keyword argument ``gamma: 1.0`` as 1.
    """
    match value:
        case float() if value.is_integer() and abs(value) < 2**63:
            return int(value)
        case dict():
            return {key: whole_floats_to_int(inner) for key, inner in value.items()}
        case list():
            return [whole_floats_to_int(inner) for inner in value]
    return value


Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
# At most a week, because a longer time is probably a typing error.
Seconds = Annotated[int, Field(ge=1, le=604_800)]


def _unless_stored(value: Any, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Skip the check for a longer duration of a stored object: the operator must still manage the fleet."""
    is_stored = bool(info.context and info.context[_IS_STORED])
    return value if is_stored and type(value) is int and value > LONGEST_SECONDS else check(value)


LONGER_IF_STORED: Final = WrapValidator(_unless_stored)
# The operator adds these durations to times, and reads each with ``times.duration``.
Duration = Annotated[int, Field(ge=0, le=LONGEST_SECONDS), LONGER_IF_STORED]
PositiveDuration = Annotated[int, Field(ge=1, le=LONGEST_SECONDS), LONGER_IF_STORED]

# Three decimals are enough: further decimals are noise, and each change causes a write to the API server.
Measured = Annotated[float, PlainSerializer(lambda value: round(value, 3), return_type=float, when_used="json")]


# Kubernetes writes times in UTC with a Z, to the second.
def _rfc3339(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plausible(time: datetime) -> datetime:
    if not is_plausible(time):
        raise ValueError(f"{time.isoformat()} is not between the years {EARLIEST_YEAR} and {LATEST_YEAR}")
    return time


Time = Annotated[
    AwareDatetime, AfterValidator(_plausible), PlainSerializer(_rfc3339, return_type=str, when_used="json")
]
