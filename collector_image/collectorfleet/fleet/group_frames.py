"""Whether frames of several groups go into one batch: their environments have to give the same entries."""

from __future__ import annotations

from collections.abc import Sequence

from tensordict import TensorDictBase
from torch import Tensor

from collectorfleet.errors import InvalidOption

_ADVICE = (
    "a Sync batch has frames of all groups; give their environments the same entries, or use mode Async, where each "
    "batch is of one collector"
)


def check_groups(views: Sequence[TensorDictBase], groups: Sequence[str]) -> None:
    """Raise InvalidOption where a part of one group has other entries than one of another group."""
    first: dict[str, TensorDictBase] = {}
    for view, group in zip(views, groups, strict=True):
        first.setdefault(group, view)
    (one, like), *others = first.items()
    for other, view in others:
        found = _difference(like, view, one, other) or _difference(view, like, other, one)
        if found:
            raise InvalidOption(f"groups: {found}; {_ADVICE}")


def _difference(view: TensorDictBase, other: TensorDictBase, group: str, others: str, within: str = "") -> str:
    """What ``view``, of a group, has that ``other`` has not, or has otherwise; empty if nothing."""
    for key in view.keys():  # noqa: SIM118  (of a TensorDict, which iterates over something else)
        path = f"{within}{key}"
        value, theirs = view.get(key), other.get(key, None)
        if theirs is None:
            return f"frames of {group} have {path}, but frames of {others} do not"
        if isinstance(value, Tensor) and isinstance(theirs, Tensor):
            if (value.shape, value.dtype) != (theirs.shape, theirs.dtype):
                return f"{path} is {_shown(value)} in {group}, and {_shown(theirs)} in {others}"
        elif isinstance(value, TensorDictBase) and isinstance(theirs, TensorDictBase):
            found = _difference(value, theirs, group, others, f"{path}.")
            if found:
                return found
    return ""


def _shown(value: Tensor) -> str:
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
