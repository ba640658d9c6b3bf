"""Measures the time until an update reaches all collectors of the nodes, and the bytes that travel over each link."""

from __future__ import annotations

import os
import secrets
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ray
import torch

from benchmarks.common import child
from benchmarks.common.patience import expecting
from benchmarks.link import network
from benchmarks.raycollector import sides, workloads
from benchmarks.raycollector.measures import Side
from collectorfleet_api import ray_settings

_PORT = 6399
_STORE_BYTES = 3 * 2**30


def run(case: dict[str, Any]) -> dict[str, float]:
    """Measure the updates of one side.

    A case has ``side``, ``policy``, ``nodes``, ``collectors`` (per node), ``mbit`` and ``updates``. Returns the median
    seconds of an update, the used share of the link's rate, and the copies of the weights over each link.
    """
    torch.set_num_threads(1)
    network.head()
    nodes = [network.Node(number + 1, case["mbit"]) for number in range(case["nodes"])]
    _start_ray(nodes, case["collectors"])
    policy = workloads.POLICIES[case["policy"]]()
    size = sum(tensor.nbytes for tensor in policy.state_dict().values())
    collectors = len(nodes) * case["collectors"]
    arguments = {"collectors": collectors, "frames": 10 * collectors, "sync": True}
    side = Side(case["side"], lambda: sides.MAKE[case["side"]](workloads.environment(), policy, **arguments))
    wait: dict[str, Any] = {"wait": True} if case["side"] == sides.FLEET else {}
    side.update(**wait)
    seconds, copies = [], []
    for _ in range(case["updates"]):
        side.next()
        time.sleep(0.5)
        before = [node.received_bytes for node in nodes]
        seconds.append(side.update(**wait))
        copies += [(node.received_bytes - was) / size for node, was in zip(nodes, before, strict=True)]
    # The seconds that one copy per node takes on links without other traffic.
    ideal = size * 8 / (case["mbit"] * 1e6)
    return {
        "s": statistics.median(seconds),
        "of the link": ideal / statistics.median(seconds),
        "copies": statistics.median(copies),
    }


def _start_ray(nodes: list[network.Node], collectors: int) -> None:
    folder = Path(os.environ[child.FOLDER])
    ray_command = str(Path(sys.executable).with_name("ray"))
    common = ("--block", "--disable-usage-stats", f"--object-store-memory={_STORE_BYTES}")
    head = ("--head", f"--node-ip-address={network.HEAD}", f"--port={_PORT}", "--num-cpus=0", f"--temp-dir={folder}")
    with (folder / "head.log").open("ab") as out:
        subprocess.Popen([ray_command, "start", *head, "--include-dashboard=false", *common], stdout=out, stderr=out)
    address = f"{network.HEAD}:{_PORT}"
    with expecting("the head of Ray", 60):
        _until(lambda: _is_head_up(address))
    ray.init(address=address, _node_ip_address=network.HEAD, log_to_driver=False)
    # Start one node after the other, because nodes that start together choose the same names for their sockets.
    for count, node in enumerate(nodes, start=2):
        place = (f"--address={address}", f"--node-ip-address={node.address}", f"--num-cpus={collectors}")
        node.start(ray_command, "start", *place, *common, log=folder / f"{node.address}.log")
        with expecting(f"node {node.address} of Ray", 60):
            _until(lambda count=count: sum(one["Alive"] for one in ray.nodes()) == count)


def _is_head_up(address: str) -> bool:
    ray_command = str(Path(sys.executable).with_name("ray"))
    done = subprocess.run([ray_command, "health-check", "--address", address], capture_output=True, check=False)
    return done.returncode == 0


def _until(holds: Any) -> None:
    while not holds():
        time.sleep(0.2)


if __name__ == "__main__":
    # Ray needs a token to listen beyond loopback, and reads the token when it is imported.
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    network.enter({**ray_settings.environment(), **token})
    child.serve(run)
