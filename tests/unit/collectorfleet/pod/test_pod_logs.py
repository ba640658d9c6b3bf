"""The driver pod's log, as its environment asks for it."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.cluster.binaries import ROOT

CODE = """
import logging, os, sys
from collectorfleet.pod.pod_logs import set_up_pod_log

set_up_pod_log(sys.stderr, os.environ)
logging.getLogger("collectorfleet.run").info("4 of 4 collectors")
logging.getLogger("ray").info("a library's small talk")
"""


def log_of_a_pod(**env: str) -> str:
    of_its_fleet = {"COLLECTORFLEET_NAMESPACE": "lab", "COLLECTORFLEET_NAME": "cheetah"}
    path = {"PYTHONPATH": f"{ROOT}/crds:{ROOT}/collector_image"}
    command = [sys.executable, "-c", CODE]
    return subprocess.run(command, env=path | of_its_fleet | env, capture_output=True, text=True, check=True).stderr


def test_each_line_is_a_json_object_with_the_fleet_where_json_is_asked_for() -> None:
    (line,) = log_of_a_pod(COLLECTORFLEET_LOG_FORMAT="json").splitlines()
    said = json.loads(line)
    assert said.pop("time").endswith("Z")
    assert said == {
        "level": "INFO",
        "logger": "collectorfleet.run",
        "message": "4 of 4 collectors",
        "namespace": "lab",
        "fleet": "cheetah",
    }


def test_it_is_text_otherwise() -> None:
    assert log_of_a_pod().endswith("Z INFO collectorfleet.run: 4 of 4 collectors\n")
