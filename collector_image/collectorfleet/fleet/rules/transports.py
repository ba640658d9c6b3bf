"""Rules about what carries frames and weights: what is Ray's own has no meaning without Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from collectorfleet.fleet.rules.rule import Rule, is_service
from collectorfleet.transport.interface import TransportKind

if TYPE_CHECKING:
    from collectorfleet.fleet.options import FleetOptions


def _only_with_ray(name: str, why: str) -> Rule:
    def holds(options: FleetOptions) -> bool:
        return not (options.forms_a_gang and getattr(options, name))

    return Rule("only-with-ray", name, holds, f"{why}; use transport 'object_store', or leave it out")


TRANSPORTS: Final = (
    Rule(
        "transport-is-known",
        "transport",
        lambda options: options.transport in list(TransportKind),
        lambda options: f"{options.transport!r}; use 'object_store' or 'torch_distributed'",
    ),
    _only_with_ray(
        "remote_configs", "transport 'torch_distributed' has processes, and these are options of Ray actors"
    ),
    Rule(
        "launcher-of-a-gang",
        "launcher",
        lambda options: options.forms_a_gang or options.launcher is None,
        "it starts processes, and with transport 'object_store' collectors are Ray actors; use transport "
        "'torch_distributed', or leave it out",
    ),
    _only_with_ray("ray_init_config", "transport 'torch_distributed' starts no Ray"),
    Rule(
        "only-with-ray",
        "replay_buffer",
        lambda options: not options.forms_a_gang or options.replay_buffer is None,
        "collectors write to a buffer that is a Ray actor, and with transport 'torch_distributed' they are not in Ray; "
        "use transport 'object_store', or extend the buffer with the batches that the iteration yields",
    ),
    Rule(
        "only-with-ray",
        "policy",
        lambda options: not (options.forms_a_gang and is_service(options.policy)),
        "an inference service is a Ray actor, and with transport 'torch_distributed' collectors are not in Ray; "
        "use transport 'object_store', or pass the module",
    ),
)
