"""Define the error of requests to Kubernetes."""

from __future__ import annotations


class KubernetesError(RuntimeError):
    """A request to Kubernetes that failed. The message is the text that kubectl prints on stderr."""

    def __init__(self, message: str, stdout: str = "") -> None:
        super().__init__(message)
        self.stdout = stdout  # the output of kubectl before it failed

    @property
    def not_found(self) -> bool:
        return "(NotFound)" in str(self)
