"""Check that frames of several groups fit into one batch: all environments need the same entries."""

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
    """Raise InvalidOption if the parts of two groups have different entries, shapes or dtypes."""
    first: dict[str, TensorDictBase] = {}
    for view, group in zip(views, groups, strict=True):
        first.setdefault(group, view)
    (one, like), *others = first.items()
    for other, view in others:
        found = _difference(like, view, one, other) or _difference(view, like, other, one)
        if found:
            raise InvalidOption(f"groups: {found}; {_ADVICE}")


def _difference(view: TensorDictBase, other: TensorDictBase, group: str, others: str, within: str = "") -> str:
    """Describe the first entry of ``view`` that ``other`` lacks, or has with another shape or dtype. Empty if none."""
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
