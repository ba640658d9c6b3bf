"""Empty storages that replace those of kopf, because no handler of this operator needs the previous state of an object.

To find changes, kopf would copy each object several times. This costs more than the rest of kopf's work for an event.
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
