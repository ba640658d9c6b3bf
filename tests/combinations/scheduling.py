"""Of `spec.tolerations`."""

from __future__ import annotations

import pytest

REFUSED = [
    pytest.param(
        {"spec.tolerations": [{"effect": "NoSchedule"}]},
        'spec.tolerations: a toleration without a key matches all taints and needs "operator: Exists"; set operator to '
        "Exists, or set a key",
        id="a toleration of nothing",
    ),
    pytest.param(
        {"spec.tolerations": [{"key": "a"}, {"key": "gpu", "operator": "Exists", "value": "a100"}]},
        'spec.tolerations: "operator: Exists" takes no value; leave value out, or set operator to Equal',
        id="any value, and one",
    ),
    pytest.param(
        {"spec.tolerations": [{"key": "gpu", "effect": "NoSchedule", "tolerationSeconds": 30}]},
        "spec.tolerations: tolerationSeconds applies only to effect NoExecute; set effect to NoExecute, or leave "
        "tolerationSeconds out",
        id="seconds without an eviction",
    ),
]

GO_TOGETHER = [
    pytest.param(
        {
            "spec.priorityClassName": "batch",
            "spec.tolerations": [
                {"operator": "Exists"},
                {"key": "nvidia.com/gpu", "operator": "Exists", "value": "", "effect": "NoSchedule"},
                {"key": "spot", "value": "yes", "effect": "NoExecute", "tolerationSeconds": 0},
            ],
        },
        id="a priority and tolerations",
    )
]
