"""Whether the API server still knows the driver: the answers to all its requests, one after another.

A token is bound to its pod and its ServiceAccount. If a pod is deleted while its kubelet is silent, the driver runs on
beside its successor and keeps the collectors from it. If a ServiceAccount is deleted and created again, only another
pod gets a token at once. The kubelet renews existing tokens after most of an hour, and until then the driver can
neither hold its Lease nor report. In both cases the driver has to end, and its successor resumes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

# An API server that starts may refuse everybody for a moment.
VOID_SECONDS: Final = 30.0

_UNAUTHORIZED: Final = 401


class Access:
    """Calls ``refused`` once, when every answer for ``VOID_SECONDS`` was that the token is void."""

    def __init__(self, refused: Callable[[], None]) -> None:
        self._refused = refused
        self._since: float | None = None
        self._told = False

    def answered(self, status: int, now: float) -> None:
        """An HTTP status that the API server answered with, and when, in seconds of a monotonic clock."""
        if status != _UNAUTHORIZED:
            self._since, self._told = None, False
            return
        if self._since is None:
            self._since = now
        if now - self._since >= VOID_SECONDS and not self._told:
            self._told = True
            self._refused()
