"""``FleetCollector`` has the interface of TorchRL's collectors, and runs a fleet of collectors in other processes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from tensordict import TensorDictBase
from torch import nn
from torchrl.weight_update import RayWeightSyncScheme

from collectorfleet.codec.snapshot import EMPTY_SNAPSHOT
from collectorfleet.errors import InvalidOption
from collectorfleet.fleet.assemble import Assembler
from collectorfleet.fleet.control import FleetControl
from collectorfleet.fleet.engine import engine
from collectorfleet.fleet.iteration import Resumable
from collectorfleet.fleet.options import FleetOptions
from collectorfleet.fleet.rules.rule import is_service
from collectorfleet.fleet.signature import takes
from collectorfleet.fleet.torchrl_learner.publisher import LearnerPublisher, scheme_of_service
from collectorfleet.fleet.torchrl_learner.scheme import LearnerScheme
from collectorfleet.fleet.weights import WeightsSource
from collectorfleet.gather.shared import Staged
from collectorfleet.gather.state.admissions import Batch
from collectorfleet.gather.state.versions import PublishResult

# The time limit for publishing the last version. A short limit is enough: no collector uses this version, so the
# staleness bound does not delay it.
_PUBLISH_SECONDS: Final = 10.0


class FleetCollector(FleetControl):
    """Collects frames with a fleet of collectors, and replaces lost collectors. By default a collector is a Ray actor.

    The class accepts the arguments of :class:`torchrl.collectors.distributed.RayCollector`. You iterate over an
    instance in the same way. With ``sync=True`` a batch has ``shares`` equal parts, by default one part for each
    collector. The shape of the batch is ``[shares, frames_per_batch / shares, ...]``. With ``sync=False`` a batch has
    ``frames_per_batch`` frames of one collector. The entry ``("collector", "weights_version")`` (int64) of a frame is
    the version of the weights that produced the frame. The fleet collects nothing before you request the first batch.
    https://collectorfleet.github.io/collectorfleet/fleet-collector/ describes the arguments by topic.

    If the environment or the policy raises an error, the iteration raises :class:`~collectorfleet.UserCodeError` with
    the text of the original error.
    """

    @takes(FleetOptions)
    def __init__(self, options: FleetOptions) -> None:
        super().__init__()
        # TorchRL's `len(collector)` and TorchRL's trainers read the following attributes.
        self.total_frames = options.total_frames
        self.frames_per_batch = self.requested_frames_per_batch = options.frames_per_batch
        self.init_random_frames = options.random_frames
        self.replay_buffer = options.replay_buffer
        self._interval = 1 if options.update_after_each_batch else options.max_weight_update_interval
        self._batches_since_update = 0
        self._taken: Batch | None = None
        self._waiting: dict[str, int] = {}
        self._uses_ray = options.uses_ray
        self._assembler = Assembler(options)
        self._learner: LearnerPublisher | None = None
        self._learner_scheme: RayWeightSyncScheme | None = None
        self._source = WeightsSource(
            options.policy, options.models or {}, dtype=options.weights_dtype, names=options.weights_filter
        )
        self._engine = engine(options, self._source)
        # If the FleetCollector is deleted without shutdown(), this callback ends its actors.
        weakref.finalize(self, self._engine.consumer.abandon).atexit = False
        self._curriculum = options.curriculum
        if options.resume_from is not None:
            self.load_environment_parameters_state(options.resume_from.get("environment_parameters", {}))
        self._stage()
        self._engine.start()

    @property
    def policy(self) -> Any:
        """The module that the fleet publishes, or None if ``policy_factory`` is given. Train this module in place."""
        return self._source.policy

    @property
    def models(self) -> Mapping[str, nn.Module]:
        """The other modules that the fleet publishes. The key of a module is its attribute path in a collector.

        Train these modules in place.
        """
        return self._source.models

    @property
    def num_collectors(self) -> int:
        """The desired number of collectors."""
        return self._consumer.shared.slots.desired

    num_workers = num_collectors

    @property
    def remote_collectors(self) -> list[Any]:
        """The living collectors: Ray actors, or handles of processes, depending on ``transport``."""
        return self._transport.handles()

    # ---------------------------------------------------------------- batches
    def __iter__(self) -> Iterator[TensorDictBase]:
        return Resumable(super().__iter__, self._waiting)

    def iterator(self) -> Iterator[TensorDictBase | None]:
        """Yield the batches of the run. Then evaluate the last version, and shut the fleet down.

        If the collectors write to a replay buffer themselves, each item is None.
        """
        while True:
            if self._batches_since_update and 0 <= self._interval <= self._batches_since_update:
                if not self._consumer.finished:
                    self._stage()
                self._batches_since_update = 0
            self._follow_curriculum()
            # ``_taken`` refers to the batch until the yield. If an interrupt comes before the yield, the next call
            # yields this batch.
            found = self._taken = self._taken or self._consumer.next()
            if found is None:
                self.finish_evaluation()
                self.settle()
                self.shutdown()
                return
            try:
                batch = self._assembler.batch(
                    [share.payload for share in found.shares],
                    [share.slot for share in found.shares],
                    [share.random for share in found.shares],
                )
            except Exception:
                self._taken = None  # drop the batch: TorchRL shuts the collector down after an error
                raise
            del found
            self._batches_since_update += 1
            # Make no call between this line and the yield. An interrupt during a call would lose the batch.
            self._taken = None
            yield batch
            # Drop the reference: the pool reuses a buffer only if no references to it are left.
            del batch

    # ---------------------------------------------------------------- weights
    def update_policy_weights_(
        self,
        policy_or_weights: Any = None,
        *,
        weights: Any = None,
        policy: Any = None,
        model_id: str | None = None,
        weights_dict: Mapping[str, Any] | None = None,
        worker_ids: Any = None,
        wait: bool = False,
        timeout: float = 60.0,
    ) -> Mapping[str, PublishResult] | None:
        """Publish a new version of the weights. The call copies the weights. The copy is sent in the background.

        The weights are a module, a TensorDict or a dict of tensors. Without weights, the call publishes the present
        policy. If the weights lack some tensors, the call publishes the policy's present values of these tensors.

        By default the call returns at once. With ``wait=True`` the call blocks until all collectors have applied the
        version, or until ``timeout`` seconds have passed. It then returns the result of each collector by name.

        With a staleness bound, the fleet publishes at most one version for each batch that is handed out. A further
        version waits for the next batch, and the results of ``wait=True`` report this. If the policy is an inference
        service, the call blocks until the service is updated, and returns None. If the run has ended with an error, the
        call raises this error.

        Raises:
            InvalidOption: an argument is not supported, or a TorchRL learner publishes the weights. Or the name, shape
                or dtype of a tensor does not fit the policy.
        """
        if worker_ids is not None:
            raise InvalidOption("worker_ids: every collector gets the newest weights; remove this argument")
        given = [one for one in (policy_or_weights, weights, policy, weights_dict) if one is not None]
        if len(given) > 1:
            raise InvalidOption("update_policy_weights_: several arguments have weights; pass one of them")
        if self._learner is not None:
            raise InvalidOption("update_policy_weights_: the trainer's learner publishes the weights; remove this call")
        if is_service(self.policy):
            self.policy.update_policy_weights_(policy_or_weights=given[0] if given else None)
            return None
        staged = self._stage(given[0] if given else None, model_id)
        return self._consumer.wait_applied(staged, timeout) if wait and staged else None

    def publish(self) -> Staged:
        """Publish the present policy like :meth:`update_policy_weights_`.

        The returned object gets its ``version`` as soon as its weights are published.

        Raises:
            InvalidOption: the policy has no tensors, or a TorchRL learner or an inference service publishes the
                weights.
        """
        staged = None if is_service(self.policy) else self._stage()
        if staged is None:
            raise InvalidOption(
                "publish: this policy has no tensors to publish, or another component publishes its weights"
            )
        return staged

    def _learner_weight_sync(self, *, new_generation: bool = False) -> LearnerScheme | RayWeightSyncScheme:
        """Return the scheme with which TorchRL's learner sends its weights from now on.

        TorchRL's trainers with ``learner_backend="ray"`` call this method. The fleet publishes the learner's weights
        like :meth:`update_policy_weights_`. After this call, only the learner may publish.

        Raises:
            InvalidOption: the fleet publishes automatically, the fleet does not use Ray, or the fleet has no module to
                compare the learner's weights with.
        """
        if is_service(self.policy):
            if self._learner_scheme is None or new_generation:
                self._learner_scheme = scheme_of_service(self.policy)
            return self._learner_scheme
        if not self._uses_ray:
            raise InvalidOption("transport: learner_backend='ray' sends weights by Ray; use 'object_store'")
        if self._interval >= 0:
            raise InvalidOption(
                "update_after_each_batch, max_weight_update_interval: the trainer's learner publishes the weights; "
                "leave these arguments out"
            )
        if not isinstance(self.policy, nn.Module):
            raise InvalidOption(
                "policy: learner_backend='ray' needs the module itself, to compare its weights with the learner's; "
                "pass the nn.Module"
            )
        if self._learner is None:
            consumer = self._consumer
            self._learner = LearnerPublisher(self.policy, self._publish_learned, lambda: consumer.shared.over)
        return self._learner.scheme()

    def _publish_last(self) -> None:
        if self._interval >= 0:
            # The trainer has updated the policy with the last batch. No further batch will trigger a publish.
            self._stage()
        self._consumer.wait_published(_PUBLISH_SECONDS)

    def _publish_learned(self, weights: TensorDictBase, model_version: int | None) -> None:
        self._stage(weights, policy_version=model_version)

    def _stage(self, given: Any = None, model: str | None = None, policy_version: int | None = None) -> Staged | None:
        if given is None and self._learner is not None:
            return None  # the learner trains another copy of the policy
        snapshot = self._source.take(given, model)
        if snapshot is None:
            if given is not None or model is not None:
                raise InvalidOption("update_policy_weights_: the argument has no tensor")
            if not self._consumer.normalization:
                return None
            snapshot = EMPTY_SNAPSHOT
        return self._consumer.stage(replace(snapshot, policy_version=policy_version))
