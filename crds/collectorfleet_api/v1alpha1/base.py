"""What all models of the resource share: camelCase on the wire, unknown fields refused, values frozen."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
)
from pydantic.alias_generators import to_camel


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
            json.dumps(obj), by_alias=True, by_name=False, extra="ignore" if ignore_unknown else None
        )

    def to_wire(self) -> dict[str, Any]:
        """The JSON object as the API server stores it; absent fields stay absent."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def _whole(value: object) -> object:
    # JSON has one kind of number: `totalFrames: 1e6` arrives as a float, and the API server takes it for an integer.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Integer = Annotated[int, BeforeValidator(_whole)]


# Kubernetes writes times to the second, in UTC with a Z.
def _rfc3339(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Time = Annotated[AwareDatetime, PlainSerializer(_rfc3339, return_type=str, when_used="json")]


# Folders of a template or kwargs are free-form: the API server keeps what it does not know there.
Preserved = Annotated[
    dict[str, Any], Field(json_schema_extra={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
]

# "my_envs.cheetah:make_env": where Python finds the user's function.
ImportPath = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$",
        max_length=253,
    ),
]
