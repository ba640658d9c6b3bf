"""Read the policy's weights from a checkpoint: the weights at the checkpoint, or the best evaluated weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from torch import Tensor

from collectorfleet.errors import InvalidOption
from collectorfleet.evaluation.result import EvaluationResult
from collectorfleet.run.checkpoint.checkpoint import Checkpoint
from collectorfleet.run.checkpoint.checkpoint_files import newest_checkpoint
from collectorfleet.run.checkpoint.kept_from_collector import EVALUATION
from collectorfleet.run.checkpoint.state_reader import read_state

_POLICY: Final = "policy"


@dataclass(frozen=True)
class KeptWeights:
    """The policy's weights: ``tensors`` is a state dict. ``metadata`` has its origin, such as version and frames."""

    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]


def newest_weights(folder: Path) -> KeptWeights:
    """Return the policy's weights at the newest checkpoint in ``folder``. Raises InvalidOption if no weights exist."""
    checkpoint, state = _newest(folder)
    position = checkpoint.position
    tensors = _tensors(state.get(_POLICY))
    if not tensors:
        raise InvalidOption(f"{_name(checkpoint)} has no weights of a policy; it has {', '.join(sorted(state))}")
    return KeptWeights(tensors, {"version": str(position.version), "frames": str(position.frames)})


def best_weights(folder: Path) -> KeptWeights:
    """Return the evaluated weights with the highest mean return. Raises InvalidOption if no weights were evaluated."""
    checkpoint, state = _newest(folder)
    kept = state.get(EVALUATION)
    if not kept:
        raise InvalidOption(
            f"{_name(checkpoint)} has no evaluation; set spec.evaluation with keepBest: true, or export without --best"
        )
    if kept["best"] is None:
        raise InvalidOption(
            f"no evaluation had finished at {_name(checkpoint)}; try again after the next checkpoint, or export "
            "without --best"
        )
    if kept["best_weights"] is None:
        raise InvalidOption(
            f"{_name(checkpoint)} has no evaluated weights; set evaluation.keepBest: true, or export without --best"
        )
    tensors = as_state_dict(kept["best_weights"], _tensors(state.get(_POLICY)))
    return KeptWeights(tensors, _metadata(EvaluationResult(**kept["best"])))


def as_state_dict(published: Mapping[str, Tensor], policy: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the published tensors, keyed by their names in the policy's state dict.

    A shared tensor is published under only one of its names. Published buffers that the state dict lacks are left out.
    """
    by_place = {_place(policy[name]): tensor for name, tensor in published.items() if name in policy}
    found = {name: by_place[_place(own)] for name, own in policy.items() if _place(own) in by_place}
    # A script may publish the weights of a module other than its policy. Then no name matches.
    return found or dict(published)


def _place(tensor: Tensor) -> tuple[object, ...]:
    """Return a key that is equal for two names of one tensor: its memory, dtype, shape and strides."""
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()


def _newest(folder: Path) -> tuple[Checkpoint, Mapping[str, Any]]:
    while (checkpoint := newest_checkpoint(folder)) is not None:
        try:
            return checkpoint, read_state(checkpoint.state_file)
        except ValueError as error:
            # If the file is missing, the run has removed this checkpoint, and has written newer ones.
            if checkpoint.state_file.exists():
                raise InvalidOption(str(error)) from error
    raise InvalidOption(
        f"{folder} has no checkpoint; wait for the first checkpoint, or name the folder of `collectorfleet run "
        "--checkpoint`"
    )


def _tensors(state: Any) -> dict[str, Tensor]:
    if not isinstance(state, dict):
        return {}
    return {name: value for name, value in state.items() if isinstance(value, Tensor)}


def _metadata(result: EvaluationResult) -> dict[str, str]:
    error = result.standard_error
    return {
        "version": str(result.version),
        "frames": str(result.frames),
        "return_mean": f"{result.mean:g}",
        **({} if error is None else {"return_standard_error": f"{error:g}"}),
        "episodes": str(len(result.returns)),
        "time": result.time.isoformat(),
    }


def _name(checkpoint: Checkpoint) -> str:
    return str(checkpoint.state_file.parent)
