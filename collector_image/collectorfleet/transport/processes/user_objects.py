"""The user's own objects on their way to a collector's process, which may not pickle here, or not unpickle there.

Either is told with what raised: here before a process begins, there as any other error of the user's code.
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

# Of what the user calls otherwise.
_OPTIONS: Final = {"create_env": "create_env_fn"}


def pickled(option: str, value: Any) -> bytes:
    """``value`` of an option. Raises InvalidOption: it does not pickle."""
    try:
        written: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise InvalidOption(
            f"{option}: the object cannot be pickled, but collectors are other processes: {describe(error)}; "
            "pass a function that creates what cannot be pickled in the collector"
        ) from error
    return written


class Builds:
    """What each collector is made of, and from which seed.

    ``config_of`` says the first of a slot, ``policy`` is what those have that name none; ``seed`` is the fleet's, from
    which the seeds of each collector follow. Raises InvalidOption: the policy does not pickle.
    """

    def __init__(self, config_of: ConfigOf, policy: Any, seed: int) -> None:
        self._config_of = config_of
        self._policy = pickled("policy", policy)  # once for all of them
        self._seed = seed
        self._seeds_environments = False

    def seed_environments(self, seed: int) -> None:
        """Those of later incarnations, when they are built: what they draw follows from ``seed``."""
        self._seed, self._seeds_environments = seed, True

    def of(self, collector: CollectorId) -> Build:
        """Raises InvalidOption: something in its configuration does not pickle."""
        config = self._config_of(collector.name)
        if not config.served:
            config = replace(config, policy=None)
        try:
            written = cloudpickle.dumps(config)
        except Exception:
            for one in fields(config):
                pickled(_OPTIONS.get(one.name, one.name), getattr(config, one.name))
            raise
        return Build(written, None if config.served else self._policy, self._seed, self._seeds_environments)


def config_of(collector: CollectorId, build: Build) -> CollectorConfig | Raised:
    """What it is made of; or what was raised as that was unpickled, which is for the driver to hear."""
    whose = "environment or options, as the collector's process unpickled them"
    try:
        config: CollectorConfig = cloudpickle.loads(build.config)
        whose = "policy, as the collector's process unpickled it"
        return config if build.policy is None else replace(config, policy=cloudpickle.loads(build.policy))
    except BaseException as error:  # noqa: BLE001  (modules of the user are imported, scripts without a guard too)
        return Raised(collector, whose, describe(error), "".join(traceback.format_exception(error)))
