"""Pickle the user's objects for a collector's process. Pickling in the driver or unpickling in the process may fail.

An error of pickling is raised before a process starts. An error of unpickling is reported like other errors of the
user's code.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, Final

from ray import cloudpickle

from collectorfleet.actor.config import CollectorConfig
from collectorfleet.errors import InvalidOption, describe
from collectorfleet.messages import CollectorId, Raised
from collectorfleet.transport.processes.control import Build

ConfigOf = Callable[[str], CollectorConfig]

# The names by which users know these fields.
_OPTIONS: Final = {"create_env": "create_env_fn"}


def pickled(option: str, value: Any) -> bytes:
    """Return the pickled ``value`` of an option. Raises InvalidOption if it cannot be pickled."""
    try:
        written: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise InvalidOption(
            f"{option}: the object cannot be pickled for the collectors' processes: {describe(error)}; "
            "pass a function that creates the object in the collector"
        ) from error
    return written


class Builds:
    """Makes the build message of each collector.

    ``config_of`` returns the configuration of the collector in a slot. ``policy`` is the policy of all
    collectors that use no inference service. The seeds of each collector are derived from ``seed``, the fleet's seed.
    Raises InvalidOption if the policy cannot be pickled.
    """

    def __init__(self, config_of: ConfigOf, policy: Any, seed: int) -> None:
        self._config_of = config_of
        self._policy = pickled("policy", policy)  # pickled once for all collectors
        self._seed = seed
        self._seeds_environments = False

    def seed_environments(self, seed: int) -> None:
        """Seed the environments of later incarnations when they are built. Their seeds are derived from ``seed``."""
        self._seed, self._seeds_environments = seed, True

    def of(self, collector: CollectorId) -> Build:
        """Return the build message. Raises InvalidOption if a part of the configuration cannot be pickled."""
        config = self._config_of(collector.name)
        if not config.uses_policy_service:
            config = replace(config, policy=None)
        try:
            written = cloudpickle.dumps(config)
        except Exception:
            for one in fields(config):
                pickled(_OPTIONS.get(one.name, one.name), getattr(config, one.name))
            raise
        return Build(
            written, None if config.uses_policy_service else self._policy, self._seed, self._seeds_environments
        )


def config_of(collector: CollectorId, build: Build) -> CollectorConfig | Raised:
    """Return the configuration with its policy. If unpickling fails, return the error as a message for the driver."""
    whose = "unpickling the environment or the options"
    try:
        config: CollectorConfig = cloudpickle.loads(build.config)
        whose = "unpickling the policy"
        return config if build.policy is None else replace(config, policy=cloudpickle.loads(build.policy))
    except BaseException as error:  # noqa: BLE001  (the import of the user's modules may raise anything)
        return Raised(collector, whose, describe(error), "".join(traceback.format_exception(error)))
