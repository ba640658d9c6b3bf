"""``status.weights``: the published version, the counts of publishes, and the staleness of batches."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.base import Count, Measured, Model, Time


class Publishes(Model):
    attempted: Count = Field(default=0, description="Number of published versions.")
    succeeded: Count = Field(
        default=0,
        description=(
            "Number of versions that every available collector acknowledged. A collector that acknowledged a "
            "newer version counts, too. Versions in `partial` do not count."
        ),
    )
    partial: Count = Field(
        default=0,
        description=(
            "Number of versions that at least one collector failed to apply, and that every available "
            "collector acknowledged later, directly or with a newer version."
        ),
    )
    failed: Count = Field(default=0, description="Number of versions that no collector could apply.")


class PublishLag(Model):
    """The number of versions by which collectors are behind the published version."""

    max: Count = Field(description="Largest lag of an available collector.")
    mean: Measured = Field(ge=0, description="Mean lag of the available collectors.")


class Staleness(Model):
    """Staleness of the last 100 batches handed out, in versions."""

    bound: int | None = Field(default=None, description="The current staleness bound. Absent: there is no bound.")
    min: int | None = Field(default=None, description="Least staleness.")
    mean: Measured | None = Field(default=None, description="Mean staleness.")
    max: int | None = Field(default=None, description="Largest staleness.")
    throttled_seconds: Measured = Field(
        default=0.0, ge=0, description="Seconds in which the bound delayed finished batches or kept collectors idle."
    )


class WeightsFailure(Model):
    collector: str = Field(description="The collector that failed to apply weights.")
    version: int = Field(description="The version that could not be applied.")
    time: Time = Field(description="When the collector failed to apply weights.")
    reason: str = Field(description="One PascalCase word.")
    message: str = Field(description="The original error text.")


class WeightsStatus(Model):
    published: int | None = Field(
        default=None, description=("Newest version that the driver offered to the collectors.")
    )
    acknowledged: int | None = Field(
        default=None,
        description=(
            "Version of the slowest available collector: the lowest acknowledged version. Absent: the version of an "
            "available collector is unknown."
        ),
    )
    digest: str | None = Field(default=None, description="Digest of the published tensors.")
    bytes: int | None = Field(default=None, description="Size of the published tensors in bytes.")
    last_publish_time: Time | None = Field(default=None, description="When the newest version was published.")
    last_publish_seconds: Measured | None = Field(
        default=None, description="Seconds that the driver took to compute the digest and to store the version."
    )
    transport: str | None = Field(default=None, description="How the driver sends weights.")
    publishes: Publishes = Field(default_factory=Publishes, description="Counts of publishes by result.")
    publish_lag: PublishLag | None = Field(default=None, description="How far collectors are behind.")
    staleness: Staleness = Field(default_factory=Staleness, description="Staleness of batches.")
    last_failure: WeightsFailure | None = Field(default=None, description="The newest failure to apply weights.")
