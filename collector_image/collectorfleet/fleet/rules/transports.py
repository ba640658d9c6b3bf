"""Rules about the transport of frames and weights. Some options need Ray, and others need TensorPipe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from collectorfleet.fleet.arguments import FleetArguments
from collectorfleet.fleet.rules.rule import Rule, is_service
from collectorfleet.transport.interface import TransportKind
from collectorfleet.transport.rpc.options import problem, visible_problem


def _only_with_ray(name: str, why: str) -> Rule:
    def holds(options: FleetArguments) -> bool:
        return options.uses_ray or not getattr(options, name)

    return Rule(
        "only-with-ray",
        name,
        holds,
        lambda options: (
            f"transport {str(options.transport)!r} {why}; use transport 'object_store', or leave {name} out"
        ),
    )


def _only_with_rpc(name: str, why: str) -> Rule:
    def holds(options: FleetArguments) -> bool:
        return options.transport == TransportKind.RPC or getattr(options, name) is None

    return Rule(
        "only-with-rpc",
        name,
        holds,
        lambda options: f"transport {str(options.transport)!r} {why}; use transport 'rpc', or leave {name} out",
    )


def _is_right(name: str, wrong: Callable[[FleetArguments], str | None]) -> Rule:
    def holds(options: FleetArguments) -> bool:
        return getattr(options, name) is None or wrong(options) is None

    return Rule(f"{name.replace('_', '-')}-are-known", name, holds, lambda options: wrong(options) or "")


TRANSPORTS: Final = (
    Rule(
        "transport-is-known",
        "transport",
        lambda options: options.transport in list(TransportKind),
        lambda options: f"{options.transport!r} is unknown; use 'object_store', 'torch_distributed' or 'rpc'",
    ),
    _only_with_ray("remote_configs", "starts processes, but only Ray actors have these options"),
    _only_with_ray("ray_init_config", "starts no Ray"),
    _only_with_rpc("tensorpipe_options", "does not use TensorPipe"),
    _only_with_rpc("visible_devices", "assigns no GPUs to processes"),
    _is_right("tensorpipe_options", lambda options: problem(options.tensorpipe_options or {})),
    _is_right("visible_devices", lambda options: visible_problem(options.of_each("visible_devices").values)),
    Rule(
        "launcher-of-a-gang",
        "launcher",
        lambda options: options.transport == TransportKind.TORCH_DISTRIBUTED or options.launcher is None,
        "a launcher starts processes that form a process group; use transport 'torch_distributed', or leave launcher "
        "out",
    ),
    Rule(
        "hosts-leave-by-rank",
        "scaling_policy",
        lambda options: options.launcher is None or options.scaling_policy is None,
        (
            "cannot be used with launcher, because the fleet then removes the hosts of the highest ranks first; leave "
            "scaling_policy out"
        ),
    ),
    Rule(
        "only-with-ray",
        "replay_buffer",
        lambda options: options.uses_ray or options.replay_buffer is None,
        lambda options: (
            f"with transport {str(options.transport)!r}, collectors cannot write to a buffer that is a Ray actor; use "
            "transport 'object_store', or extend the buffer yourself with each batch"
        ),
    ),
    Rule(
        "only-with-ray",
        "policy",
        lambda options: options.uses_ray or not is_service(options.policy),
        lambda options: (
            f"with transport {str(options.transport)!r}, collectors cannot call an inference service, which is a Ray "
            "actor; use transport 'object_store', or pass the module"
        ),
    ),
)
