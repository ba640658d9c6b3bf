"""Check that the parts of a Sync batch have the same entries. TorchRL would stack different dtypes without an error."""

from __future__ import annotations

from collections.abc import Sequence

from tensordict import LazyStackedTensorDict, TensorDictBase
from torch import Tensor

from collectorfleet.errors import InvalidOption

_ADVICE = "change environments and policies, or use mode Async (sync=False)"


def check_same_entries(
    views: Sequence[TensorDictBase], collectors: Sequence[str], groups: Sequence[str], *, vary: bool
) -> None:
    """Raise InvalidOption if the frames in two parts of a batch have different entries, dtypes or shapes.

    Args:
        views: the parts of the batch.
        collectors: the name of the collector of each part.
        groups: the group of each part. ``groups`` is empty if the fleet has no groups.
        vary: whether the sizes of entries may change during a run. If true, shapes are not compared.
    """
    if any(isinstance(view, LazyStackedTensorDict) for view in views):
        return
    for names, option, parts in ((groups, "groups", "groups"), (collectors, "create_env_fn", "collectors")):
        first: dict[str, TensorDictBase] = {}
        for view, name in zip(views, names, strict=False):
            first.setdefault(name, view)
        (one, like), *others = first.items() if first else [("", views[0])]
        for other, view in others:
            found = _difference(like, view, one, other, vary) or _difference(view, like, other, one, vary)
            if found:
                raise InvalidOption(
                    f"{option}: {found}. A Sync batch needs the same entries from all {parts}; {_ADVICE}"
                )


def _difference(
    view: TensorDictBase, other: TensorDictBase, name: str, others: str, vary: bool, within: str = "", dims: int = -1
) -> str:
    """Describe the first entry of ``view`` that is missing or different in ``other``.

    The result is empty if there is no difference. The first ``dims`` dimensions are not compared. They are the
    dimensions of the batch, and parts may have different numbers of steps.
    """
    dims = view.ndim if dims < 0 else dims
    for key in view.keys():  # noqa: SIM118  (of a TensorDict, which iterates over something else)
        path = f"{within}{key}"
        value, theirs = view.get(key), other.get(key, None)
        if theirs is None:
            return f"frames of {name} have {path}, but frames of {others} do not"
        if isinstance(value, LazyStackedTensorDict) or isinstance(theirs, LazyStackedTensorDict):
            continue  # its entries may have different shapes, and get() would stack them
        if isinstance(value, Tensor) and isinstance(theirs, Tensor):
            ragged = vary or value.is_nested or theirs.is_nested
            mine, its = (value.dtype, value.shape[dims:]), (theirs.dtype, theirs.shape[dims:])
            if mine[0] != its[0] or (mine[1] != its[1] and not ragged):
                return f"{path} is {_shown(*mine)} in {name}, but {_shown(*its)} in {others}"
        elif isinstance(value, TensorDictBase) and isinstance(theirs, TensorDictBase):
            found = _difference(value, theirs, name, others, vary, f"{path}.", dims)
            if found:
                return found
    return ""


def _shown(dtype: object, shape: Sequence[int]) -> str:
    return f"{str(dtype).removeprefix('torch.')} {list(shape)}"
