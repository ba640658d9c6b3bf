"""Start a service of Ray, such as its log monitor, as a fork: ``python -S ray_services.py FILE ARGUMENT...``.

Ray starts this process and watches it. This process ends with the fork, and the server kills the fork if this process
ends first.
"""

from __future__ import annotations

import os
import sys


def main(words: list[str]) -> int:
    """Run the service as a fork until it ends, and return its exit code."""
    from tests.forks import environments, server

    owner = int(os.environ[environments.ENV_OWNER])
    path = environments.start_server_for(os.environ[environments.ENV_SOCKET], os.environ, owner)
    connection = server.ask(path, words, os.environ, os.getcwd(), [0, 1, 2], session=False, pid=owner, tied=True)
    if connection is None:
        return 1
    _pid, *status = connection.makefile("rb").read().split()
    return os.waitstatus_to_exitcode(int(status[0])) if status else 1


if __name__ == "__main__":
    sys.path[0] = os.path.abspath(f"{os.path.dirname(os.path.abspath(__file__))}/../..")
    sys.exit(main(sys.argv[1:]))
