"""Replace the agent of Ray's dashboard: ``python -S no_dashboard_agent.py SESSION_FOLDER NODE_ID``.

The program reports that it has no ports, as Ray's own agent does without the packages of the dashboard. It ends with
its raylet. Ray's own agent needs 4 s of CPU time on each node before its first request. Only the Ray that tests share
has Ray's own agent, because tests send requests to it (``ENV_WITH_DASHBOARD_AGENT``).
"""

from __future__ import annotations

import os
import sys
import time

PORTS = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port")
LOOK_SECONDS = 0.5


def main(folder: str, node_id: str) -> None:
    raylet = os.getppid()
    for name in PORTS:
        path = f"{folder}/{name}_{node_id}"
        with open(f"{path}.new", "w") as file:
            file.write("-1")
        os.rename(f"{path}.new", path)
    while os.getppid() == raylet:
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
