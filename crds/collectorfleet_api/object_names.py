"""The forms of names and labels in Kubernetes, as patterns for a whole text. Pure.

A pattern limits the length only if its comment has a number.
"""

from __future__ import annotations

from typing import Final

# The part of a name between two dots.
NAME_PART: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
# The name of most objects.
OBJECT_NAME: Final = f"{NAME_PART}(\\.{NAME_PART})*"
MAX_OBJECT_NAME_LENGTH: Final = 253
# The name of a namespace, a container or a volume, with at most 63 characters.
NAMESPACE_NAME: Final = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
# The name of a Service, and so the name of a fleet.
SERVICE_NAME: Final = r"[a-z]([-a-z0-9]*[a-z0-9])?"
# A value of a label, or the part of a key after the domain, with 1 to 63 characters.
LABEL_WORD: Final = "[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
