"""``spec.policy``: the policy that collectors act with."""

from __future__ import annotations

from pydantic import Field

from collectorfleet_api.v1alpha1.factory import Factory


class Policy(Factory):
    trust: bool | None = Field(
        default=None,
        description=(
            "True: the policy reads and writes a TensorDict, and collectors do not wrap the policy. Absent: TorchRL "
            "decides."
        ),
    )
