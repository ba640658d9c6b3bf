"""The whole ``CollectorFleet`` object, as in a manifest or in the API server."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field

from collectorfleet_api.v1alpha1.base import Model, Time
from collectorfleet_api.v1alpha1.parse_known import parse_known
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec
from collectorfleet_api.v1alpha1.status import CollectorFleetStatus


class Metadata(Model):
    """The fields of Kubernetes' object metadata that this project reads. Other fields are dropped."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(description="Name of the fleet and of its children.")
    # kubectl uses the same default. A run without Kubernetes needs no other namespace.
    namespace: str = Field(default="default", description="Namespace of the fleet.")
    uid: str | None = Field(
        default=None, description="Identity that the API server gives the fleet. Absent: the object is a manifest."
    )
    resource_version: str | None = Field(default=None, description="Version of the stored object.")
    generation: int | None = Field(default=None, description="Number that increases with each change of the spec.")
    labels: dict[str, str] = Field(default_factory=dict, description="Labels.")
    annotations: dict[str, str] = Field(default_factory=dict, description="Annotations.")
    creation_timestamp: Time | None = Field(default=None, description="When the fleet was created.")
    deletion_timestamp: Time | None = Field(default=None, description="When the deletion of the fleet was requested.")


class CollectorFleet(Model):
    api_version: Literal["collectorfleet.dev/v1alpha1"] = Field(description="Group and version.")
    kind: Literal["CollectorFleet"] = Field(description="Kind.")
    metadata: Metadata = Field(description="Object metadata.")
    spec: CollectorFleetSpec = Field(description="The state that the user requests.")
    status: CollectorFleetStatus | None = Field(
        default=None, description=("The state that operator and driver observe.")
    )

    @classmethod
    def parse(cls, obj: dict[str, Any]) -> Self:
        """Return the fleet in a manifest, and refuse unknown fields.

        Raises pydantic.ValidationError. ``collectorfleet_api.rules.validation`` explains the errors in sentences.
        """
        return cls.from_wire(obj)

    @classmethod
    def parse_stored(cls, obj: dict[str, Any]) -> Self:
        """Return the fleet in an object of the API server, without unknown fields and unknown values of the status.

        The installed CRD may be newer than this code. Its defaults then add unknown fields to every stored fleet.
        A newer release of the operator or driver may have written values to the status that this code does not have.

        Raises pydantic.ValidationError for errors outside the status.
        """
        fleet = cls.from_wire({key: value for key, value in obj.items() if key != "status"}, ignore_unknown=True)
        status = obj.get("status")
        if not isinstance(status, dict) or not status:
            return fleet
        return fleet.model_copy(update={"status": parse_known(CollectorFleetStatus, status)})
