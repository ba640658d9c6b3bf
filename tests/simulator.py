"""Simulate an environment behind a TCP port, and misbehave on request. The program needs only the standard library.

It counts the steps of its one client: its answer to each byte is the count, modulo 256. Usage:
``simulator.py PORT [BEHAVIOUR ...]``. Each start adds a line with its process id to the file ``$SIMULATOR_LOG``, except
a start whose port is taken: the fleet repeats it with another port.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

# The step at which it misbehaves.
AT = 30


def main(port: int, behaviours: list[str]) -> None:
    if "starts slowly" in behaviours:
        time.sleep(2)
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    note(f"{os.getpid()}")
    if "exits" in behaviours:
        print("no licence", flush=True)
        sys.exit(3)
    if "ignores SIGTERM" in behaviours:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "has a child" in behaviours:
        # The child has its own session and process group, as a daemon has.
        child = subprocess.Popen([sys.executable, "-c", CHILD], start_new_session=True)
        note(f"{child.pid}")
    if "never opens its port" in behaviours:
        print("loading the world", flush=True)
        time.sleep(3600)
    serve(server, behaviours)


def serve(server: socket.socket, behaviours: list[str]) -> None:
    with server:
        server.listen()
        client, _ = server.accept()  # like many simulators, it accepts one client only
        steps = 0
        print("a client is here", flush=True)
        while client.recv(1):
            steps += 1
            if steps == AT and is_first(behaviours):
                misbehave(behaviours)
            client.sendall(bytes([steps % 256]))


def misbehave(behaviours: list[str]) -> None:
    print(f"step {AT} goes wrong", flush=True)
    if "dies" in behaviours:
        os._exit(7)
    if "hangs" in behaviours:
        time.sleep(3600)


def is_first(behaviours: list[str]) -> bool:
    """Return whether this process may misbehave. With ``once``, only the first process in the log may."""
    with open(os.environ["SIMULATOR_LOG"]) as file:
        return "once" not in behaviours or file.readline().strip() == str(os.getpid())


def note(line: str) -> None:
    """Add a line to the log."""
    with open(os.environ["SIMULATOR_LOG"], "a") as file:
        file.write(line + "\n")


CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"

if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
