"""What kopf would remember of objects between two events: nothing, since no handler of ours asks what has changed.

It would copy each object several times to find out, which costs more than all the rest that it does with an event.
"""

from __future__ import annotations

from typing import Any

import kopf


class NoBase(kopf.DiffBaseStorage):
    def build(self, **_: Any) -> kopf.BodyEssence:
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None: ...


class NoProgress(kopf.ProgressStorage):
    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None: ...

    def purge(self, **_: Any) -> None: ...

    def touch(self, **_: Any) -> None: ...

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        return essence
