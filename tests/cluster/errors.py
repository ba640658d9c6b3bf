from __future__ import annotations


class KubernetesError(RuntimeError):
    """A request that failed; the message is what kubectl prints on stderr."""

    def __init__(self, message: str, stdout: str = "") -> None:
        super().__init__(message)
        self.stdout = stdout  # what kubectl did before it failed

    @property
    def not_found(self) -> bool:
        return "(NotFound)" in str(self)
