"""The weights that a fleet publishes: weights of the policy and other models, or weights from the caller."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from tensordict import TensorDictBase
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from collectorfleet.codec import snapshot as snapshots
from collectorfleet.codec.settings import move_settings
from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.attributes import SentAttributes
from collectorfleet.fleet.rules.rule import is_service

log = logging.getLogger("collectorfleet")

POLICY = "policy"
_LISTED: Final = 4

# The key in a state_dict under which modules store state other than tensors.
_EXTRA_STATE: Final = "_extra_state"


class WeightsSource:
    """Makes snapshots of ``policy`` and ``models``. The keys of ``models`` are attribute paths in a collector.

    ``dtype`` and ``names`` are arguments of :func:`collectorfleet.codec.snapshot.take`.
    """

    def __init__(
        self,
        policy: Any,
        models: Mapping[str, nn.Module],
        *,
        dtype: torch.dtype | None,
        names: Sequence[str] | Callable[[str], bool] | None,
    ) -> None:
        self.policy = policy
        self.models = dict(models)
        self._dtype = dtype
        self._names = names
        self._attributes = SentAttributes(policy) if isinstance(policy, nn.Module) else None
        self._published: dict[str, Tensor] = {}
        # The shapes and dtypes of the policy that is sent to collectors. If collectors build the policy, they are
        # unknown, and this dict is empty.
        self._sent = (
            {name: (_shape(tensor), tensor.dtype) for name, tensor in _named(policy) if not is_lazy(tensor)}
            if isinstance(policy, nn.Module) and not is_service(policy)
            else {}
        )
        self._published_whole = False

    @property
    def has_weights(self) -> bool:
        """Whether the policy or a model has tensors, so that the fleet can publish without weights from the caller."""
        return bool(_flat(self.policy)) or any(_flat(model) for model in self.models.values())

    def for_collectors(self) -> Any:
        """Return the policy to send to collectors. It is on the CPU, because collectors may have no GPU."""
        policy = None if is_service(self.policy) else self.policy
        if isinstance(policy, nn.Module) and any(t.device.type != "cpu" for t in snapshots.tensors_of(policy).values()):
            policy = copy.deepcopy(policy).cpu()
            move_settings(policy, "cpu")
        return policy

    def take(self, given: Any = None, model: str | None = None) -> snapshots.Snapshot | None:
        """Return a snapshot of the weights ``given``, or of all models if ``given`` is None.

        Return None if there are no tensors. ``given`` has weights of ``model``, or of the policy if ``model`` is None.
        ``given`` is a module, a (nested) TensorDict or a dict of tensors. If ``given`` lacks some of the model's
        tensors, the snapshot has the model's present values of these tensors. If ``model`` is None, ``given`` may also
        be a dict that maps names of models to their weights. For models that ``given`` does not name, the snapshot has
        the last published values.

        Raises:
            InvalidOption: the model lacks a name of ``given``, or a tensor has no values. Or a tensor's shape differs
                from its shape in the collectors, or collectors would round it because its dtype has changed.
        """
        for change in self._attributes.changes() if self._attributes is not None else ():
            log.warning(change)
        if given is None and model is None:
            tensors = self._tensors(POLICY, self.policy) | {
                name: tensor
                for path, module in self.models.items()
                for name, tensor in self._tensors(path, module).items()
            }
            whole = True
        elif given is None:
            tensors, whole = self._tensors(str(model), self._model(str(model))), not self.models
        elif model is None and isinstance(given, Mapping) and given.keys() <= {POLICY, *self.models}:
            tensors = {n: t for path, weights in given.items() for n, t in self._tensors(path, weights).items()}
            whole = len(given) == len(self.models) + 1
        else:
            tensors, whole = self._tensors(model or POLICY, given), not self.models
        if not tensors:
            return None
        self._check_loadable(tensors)
        if self.models:
            # Collectors may skip versions, and a new collector loads only the newest version. So each version must have
            # all models.
            self._published |= {name: tensor.to("cpu", copy=True) for name, tensor in tensors.items()}
            self._published_whole = whole = self._published_whole or whole
            tensors = self._published
        return snapshots.take(tensors, dtype=self._dtype, names=self._names, whole=whole)

    def _check_loadable(self, tensors: Mapping[str, Tensor]) -> None:
        """Raise InvalidOption if a tensor does not fit the collectors' policy, or if collectors would round it.

        Without this check, the error would only occur in a collector, and would end the run.
        """
        included = snapshots.including(self._names)
        for name, tensor in tensors.items():
            if name not in self._sent or not included(name):
                continue
            shape, dtype = self._sent[name]
            if _shape(tensor) != shape:
                raise InvalidOption(
                    f"weights: {name} has the shape {_shape(tensor)}, but in the collectors' policy it has the shape "
                    f"{shape}; {self._remedy(name)}"
                )
            if sentence := snapshots.rounding(name, snapshots.dtype_in_snapshot(tensor, self._dtype), dtype):
                raise InvalidOption(sentence)

    def _remedy(self, name: str) -> str:
        """Return what to do if a tensor of the policy has another shape than in the collectors."""
        if name not in dict(self.policy.named_buffers(remove_duplicate=False)):
            return "publish weights of the policy that the fleet was created with"
        return (
            f"publish weights of the policy that the fleet was created with, or leave the buffer {name} out with "
            "weights_filter (weights.include)"
        )

    def _model(self, path: str) -> Any:
        if path == POLICY:
            return self.policy
        if path not in self.models:
            raise InvalidOption(f"model_id: {path!r} is not one of {[POLICY, *self.models]}")
        return self.models[path]

    def _tensors(self, path: str, source: Any) -> dict[str, Tensor]:
        model = self._model(path)
        prefix = "" if path == POLICY else f"{path}:"
        included = snapshots.including(self._names)

        def prefer(name: str) -> bool:
            return included(f"{prefix}{name}")

        flat = _flat(source, prefer)
        if source is not model and isinstance(model, nn.Module) and flat:
            flat = _completed(flat, path, model, prefer)
        return {f"{prefix}{name}": tensor for name, tensor in flat.items()}


def _completed(
    given: Mapping[str, Tensor], path: str, model: nn.Module, prefer: snapshots.Include
) -> dict[str, Tensor]:
    """Return ``given`` and those tensors of ``model`` that are not in ``given``."""
    # Each version must have all tensors, because a restarted collector loads only the newest version.
    known = {name: id(tensor) for name, tensor in _named(model)}
    # Leave out the extra state of a state_dict, and tensors that are not published.
    given = {name: tensor for name, tensor in given.items() if prefer(name) and _EXTRA_STATE not in name.split(".")}
    for name in given:
        if name not in known:
            what = path if path == POLICY else f"model {path}"
            raise InvalidOption(
                f"weights: the {what} has no tensor {name}, only {_listed(sorted(known))}; pass (a part of) its "
                "state_dict() or TensorDict.from_module()"
            )
    covered = {known[name] for name in given}
    own = snapshots.tensors_of(model, prefer)
    return {**given, **{name: tensor for name, tensor in own.items() if known[name] not in covered}}


def _shape(tensor: Tensor) -> list[int]:
    return list(tensor.shape)


def _named(model: nn.Module) -> list[tuple[str, Tensor]]:
    return [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]


def _listed(names: Sequence[str]) -> str:
    """Return a text with the first names. In a message, these examples show the user the prefix that all names have."""
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")


def _flat(source: Any, prefer: snapshots.Include = lambda _name: True) -> dict[str, Tensor]:
    if isinstance(source, nn.Module) and not isinstance(source, TensorDictBase):
        return snapshots.tensors_of(source, prefer)
    if isinstance(source, TensorDictBase):
        return {str(key): snapshots.with_values(str(key), value) for key, value in source.flatten_keys(".").items()}
    if isinstance(source, Mapping):
        found: dict[str, Tensor] = {}
        for key, value in source.items():
            if isinstance(value, Tensor):
                found[str(key)] = snapshots.with_values(str(key), value)
            else:
                found |= {f"{key}.{name}": tensor for name, tensor in _flat(value).items()}
        return found
    return {}
