"""Of what pods and collectors ask for."""

from __future__ import annotations

import pytest

REFUSED = [
    pytest.param(
        {"spec.driver.resources.gpu": 0.5},
        "spec.driver.resources.gpu: 0.5: the driver gets whole GPUs; use 0 or 1",
        id="half a GPU for the driver",
    ),
    pytest.param(
        {"spec.collectors.devices.envDevice": "cuda"},
        "spec.collectors.devices: cuda needs a GPU; set collectors.resources.gpu, to a share such as 0.25 or to whole "
        "GPUs, or use cpu",
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
        "spec.workers.gpu.resource: with mode DRA or None, worker pods do not request this resource; leave resource "
        "out, or use another mode",
        id="a resource that nobody asks for",
    ),
    *(
        pytest.param(
            {"spec.workers.gpu.resource": resource},
            "spec.workers.gpu.resource: this is a resource of Kubernetes itself, which no device plugin offers; set a "
            "resource that nodes list under allocatable, such as nvidia.com/gpu",
            id=f"{resource}, which is no device",
        )
        for resource in ("kubernetes.io/gpu", "batch.kubernetes.io/gpu", "requests.nvidia.com/gpu")
    ),
    pytest.param(
        {"spec.workers.gpu.mode": "DRA"},
        "spec.workers.gpu.claimTemplate: mode DRA needs claimTemplate, and other modes do not use it; set both mode "
        "DRA and claimTemplate, or neither",
        id="DRA without a claim",
    ),
    pytest.param(
        {"spec.workers.gpu.claimTemplate": "one-gpu"},
        "spec.workers.gpu.claimTemplate: mode DRA needs claimTemplate, and other modes do not use it; set both mode "
        "DRA and claimTemplate, or neither",
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
