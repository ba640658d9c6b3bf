"""Private names of TensorDict itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase


def tensordict_of(entries: Mapping[Any, Any], batch_size: torch.Size, device: torch.device | None) -> TensorDictBase:
    """Return the entries as a TensorDict without checks. The checks cost more than a small step on a device."""
    made: TensorDictBase = TensorDict._new_unsafe(source=entries, batch_size=batch_size, device=device)
    return made


def has_names(batch: TensorDictBase) -> bool:
    """Return whether a dimension has a name. ``names`` does not show this, because it is a list in both cases."""
    return bool(batch._has_names())
