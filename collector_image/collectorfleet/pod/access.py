"""Detect that the API server no longer accepts the driver's token.

A token is bound to its pod and its ServiceAccount. The token becomes void in two cases:

* The driver's pod is deleted while its kubelet does not answer. The driver continues to run beside its successor, and
  occupies the collectors that the successor needs.
* The ServiceAccount is deleted and created again. A new pod gets a valid token at once. The kubelet renews the tokens
  of existing pods only after most of an hour. Until then, the driver can neither renew its Lease nor report.

In both cases the driver has to end, and its successor resumes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# An API server may refuse all tokens for a moment while it starts.
VOID_SECONDS: Final = 30.0

_UNAUTHORIZED: Final = 401


class Access:
    """Calls ``refused`` if every answer of the API server has been HTTP 401 for ``VOID_SECONDS``.

    ``refused`` is called once. If the API server gives a different answer later, ``refused`` may be called again.
    """

    def __init__(self, refused: Callable[[], None]) -> None:
        self._refused = refused
        self._since: float | None = None
        self._reported = False

    def answered(self, status: int, now: float) -> None:
        """Note an answer with the HTTP status ``status`` at ``now``, in seconds of a monotonic clock."""
        if status != _UNAUTHORIZED:
            self._since, self._reported = None, False
            return
        if self._since is None:
            self._since = now
        if now - self._since >= VOID_SECONDS and not self._reported:
            self._reported = True
            self._refused()
