"""Of what pods and collectors ask for."""

from __future__ import annotations

import pytest

REFUSED = [
    pytest.param(
        {"spec.driver.resources.gpu": 0.5},
        "spec.driver.resources.gpu: 0.5 is not a whole number of GPUs; use 0 or 1",
        id="half a GPU for the driver",
    ),
    pytest.param(
        {"spec.collectors.devices.envDevice": "cuda"},
        "spec.collectors.devices: device cuda needs a GPU; set collectors.resources.gpu, for example to 0.25, or use "
        "cpu",
        id="cuda without a GPU",
    ),
    pytest.param(
        {"spec.workers.gpu.mode": "MIG"},
        "spec.workers.gpu.resource: missing, and required with mode MIG; set the resource of a slice that nodes offer, "
        "such as nvidia.com/mig-1g.10gb",
        id="MIG of no size",
    ),
    pytest.param(
        {"spec.workers.gpu": {"mode": "None", "resource": "nvidia.com/gpu"}},
        "spec.workers.gpu.resource: with mode DRA or None, worker pods do not request this resource; leave this field "
        "out, or use another mode",
        id="a resource that nobody asks for",
    ),
    *(
        pytest.param(
            {"spec.workers.gpu.resource": resource},
            "spec.workers.gpu.resource: no device plugin offers this resource, because it belongs to Kubernetes "
            "itself; set a resource of a device plugin, such as nvidia.com/gpu",
            id=f"{resource}, which is no device",
        )
        for resource in ("kubernetes.io/gpu", "batch.kubernetes.io/gpu", "requests.nvidia.com/gpu")
    ),
    pytest.param(
        {"spec.workers.gpu.mode": "DRA"},
        'spec.workers.gpu.claimTemplate: "mode: DRA" and claimTemplate need each other; set both, or leave both out',
        id="DRA without a claim",
    ),
    pytest.param(
        {"spec.workers.gpu.claimTemplate": "one-gpu"},
        'spec.workers.gpu.claimTemplate: "mode: DRA" and claimTemplate need each other; set both, or leave both out',
        id="a claim without DRA",
    ),
    pytest.param(
        {
            "spec.collectors.devices": {"device": "cuda", "policyDevice": "cuda:2"},
            "spec.collectors.resources.gpu": 2,
            "spec.workers.gpu.perPod": 2,
        },
        "spec.collectors.devices: a collector sees only its own GPUs (collectors.resources.gpu is 2), counted from 0; "
        "use "
        "a lower index, or request more GPUs",
        id="a GPU that a collector has not",
    ),
]
