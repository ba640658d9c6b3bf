"""What all models of the resource share: camelCase on the wire, unknown fields refused, values frozen."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Self, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
)
from pydantic.alias_generators import to_camel

from collectorfleet_api.times import EARLIEST_YEAR, LATEST_YEAR, is_plausible


class Model(BaseModel):
    """A part of the resource. Attributes are snake_case in Python and camelCase in manifests."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        # A Kubernetes manifest says 0.25, never "0.25", where a number is meant.
        strict=True,
        allow_inf_nan=False,
    )

    @classmethod
    def from_wire(cls, obj: dict[str, Any], *, ignore_unknown: bool = False) -> Self:
        """Read a JSON object as manifests and the API server write it.

        ``ignore_unknown`` drops fields that this version does not know, as a reader of stored objects must: the
        installed CRD may be newer. Raises pydantic.ValidationError.
        """
        # Strict reading takes enums and times from strings only when it knows that they come from JSON.
        return cls.model_validate_json(
            json.dumps(one_kind_of_number(cls._without_nulls(obj))),
            by_alias=True,
            by_name=False,
            extra="ignore" if ignore_unknown else None,
        )

    @classmethod
    def _without_nulls(cls, obj: Any) -> Any:
        # The API server takes a field that is null for absent, such as `kwargs:` with every line below commented out.
        if not isinstance(obj, dict):
            return obj
        inner = _inner_models(cls)
        return {
            key: _mapped(model._without_nulls, value) if (model := inner.get(key)) else value
            for key, value in obj.items()
            if value is not None or key not in inner
        }

    def to_wire(self) -> dict[str, Any]:
        """The JSON object as the API server stores it; absent fields stay absent."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    def at(self, path: str) -> Any:
        """What stands at a path of manifests, such as ``stragglers.firstShares``; None below a part that is absent.

        Raises KeyError for a path that this model does not have.
        """
        alias, _, rest = path.partition(".")
        attribute = {field.alias: name for name, field in type(self).model_fields.items()}[alias]
        value = getattr(self, attribute)
        return value.at(rest) if rest and value is not None else value


class LocalObjectReference(Model):
    name: str = Field(min_length=1, max_length=253, description="Name of the object, in the fleet's namespace.")


def inner_model(annotation: Any) -> type[Model] | None:
    """The model in a field's annotation, such as ``Train | None`` or ``list[CollectorStatus]``, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    return next((found for part in get_args(annotation) if (found := inner_model(part))), None)


@functools.cache
def _inner_models(model: type[Model]) -> Mapping[str | None, type[Model] | None]:
    """By the names of manifests. Looking through annotations was half of what reading a fleet cost."""
    return {field.alias: inner_model(field.annotation) for field in model.model_fields.values()}


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    return [function(item) for item in value] if isinstance(value, list) else function(value)


def one_kind_of_number(value: Any) -> Any:
    """``value`` with whole floats as integers, everywhere in it: JSON, and so Kubernetes, does not tell them apart.

    ``totalFrames: 1e6`` is an integer, and the keyword argument ``gamma: 1.0`` arrives as 1 from the API server too.
    """
    match value:
        case float() if value.is_integer() and abs(value) < 2**63:
            return int(value)
        case dict():
            return {key: one_kind_of_number(inner) for key, inner in value.items()}
        case list():
            return [one_kind_of_number(inner) for inner in value]
    return value


Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
# At most a week: what waits longer was mistyped.
Seconds = Annotated[int, Field(ge=1, le=604_800)]

# Measured numbers go out with three decimals: the rest is noise, and each change of it would be a write.
Measured = Annotated[float, PlainSerializer(lambda value: round(value, 3), return_type=float, when_used="json")]


# Kubernetes writes times to the second, in UTC with a Z.
def _rfc3339(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plausible(time: datetime) -> datetime:
    if not is_plausible(time):
        raise ValueError(f"{time.isoformat()} is not between the years {EARLIEST_YEAR} and {LATEST_YEAR}")
    return time


Time = Annotated[
    AwareDatetime, AfterValidator(_plausible), PlainSerializer(_rfc3339, return_type=str, when_used="json")
]
