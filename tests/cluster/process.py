"""Run one component of a test cluster as a process with a log. A failed start shows the last lines of the log."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.patience import waits


@dataclass(frozen=True)
class Command:
    """The command line of a component, and the URL that answers 200 once the component is ready.

    ``env`` are variables in addition to the variables of this process.
    """

    name: str
    words: tuple[str | Path, ...]
    ready_url: str
    env: Mapping[str, str] = field(default_factory=dict)


class ComponentError(RuntimeError):
    """A component did not become ready. The message ends with the last lines of its log."""

    def __init__(self, component: str, problem: str, log: Path) -> None:
        super().__init__(f"{component}: {problem}; last lines of {log}:\n{last_lines(log)}")


class Component:
    """A named process that can be started several times with the same command line."""

    def __init__(self, command: Command, log: Path, prefix: Sequence[str] = ()) -> None:
        self.name = command.name
        self.log = log
        self._words = [*prefix, *(str(word) for word in command.words)]
        self.ready_url = command.ready_url
        self._env = {**os.environ, **command.env}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id. Raises RuntimeError if the component was not launched."""
        if self._process is None:
            raise RuntimeError(f"{self.name} was not launched")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def launch(self) -> None:
        """Start the process, and return before it is ready."""
        if self.running:
            raise RuntimeError(f"{self.name} already runs")
        with self.log.open("ab") as log:
            # In its own session, the process gets no Ctrl-C of the terminal. The tests get it, and stop the process.
            self._process = subprocess.Popen(
                self._words,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_ready(self, within: float) -> None:
        """Block until the component answers 200 at its health URL.

        ComponentError if the process ends, or after ``within`` seconds.
        """
        began = time.monotonic()
        deadline = began + within
        while not answers(self.ready_url):
            if self._process is None or self._process.poll() is not None:
                code = None if self._process is None else self._process.returncode
                raise ComponentError(self.name, f"ended with exit code {code} before it was ready", self.log)
            if time.monotonic() > deadline:
                raise ComponentError(self.name, f"not ready within {within:g} s", self.log)
            time.sleep(0.05)
        waits.note(time.monotonic() - began, within, f"{self.name} ready")

    def kill(self) -> None:
        """End the process with SIGKILL, as a crash does. Block until it has ended, at most 10 s."""
        self._end(signal.SIGKILL, patience=10)

    def stop(self) -> None:
        """End the process with SIGTERM, and after 5 s with SIGKILL. Block until it has ended."""
        try:
            self._end(signal.SIGTERM, patience=5)
        except subprocess.TimeoutExpired:
            self.kill()

    def send(self, how: signal.Signals) -> None:
        """Send a signal, such as SIGSTOP or SIGCONT, to the process if it was started."""
        if self._process is not None:
            self._signal(self._process, how)

    def reap(self) -> None:
        """Block until the process has ended with its node, for at most 10 s."""
        if self._process is not None:
            self._process.wait(timeout=10)

    def _end(self, how: signal.Signals, patience: float) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._signal(self._process, how)
        self._process.wait(timeout=patience)

    def _signal(self, process: subprocess.Popen[bytes], how: signal.Signals) -> None:
        process.send_signal(how)


def answers(url: str) -> bool:
    """Return whether ``url`` answers 200 within 2 s. Certificates are not checked: the server is our own process."""
    tls = ssl._create_unverified_context() if url.startswith("https:") else None
    try:
        with urllib.request.urlopen(url, timeout=2, context=tls) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def last_lines(log: Path, count: int = 15) -> str:
    """Return the last ``count`` lines of a log, as one text."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return "(no log)"
    return "\n".join(lines[-count:]) or "(empty)"
