"""What all models of the resource share: camelCase on the wire, unknown fields refused, values frozen."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
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
    )

    def to_wire(self) -> dict[str, Any]:
        """The JSON object as the API server stores it; absent fields stay absent."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


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
