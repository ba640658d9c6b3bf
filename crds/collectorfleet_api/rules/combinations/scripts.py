"""Rules for ``driver.script``: a setting is either in the script or in the manifest."""

from __future__ import annotations

import re
from typing import Any, Final

from collectorfleet_api.rules.combinations.combination import Combination
from collectorfleet_api.rules.combinations.questions import SCRIPT
from collectorfleet_api.v1alpha1.base import Model
from collectorfleet_api.v1alpha1.devices import Devices
from collectorfleet_api.v1alpha1.groups import GroupEnvironment
from collectorfleet_api.v1alpha1.spec import CollectorFleetSpec

# Fields that a script sets instead of the manifest, as arguments of its FleetCollector. The manifest sets everything
# else: number and size of the collectors, deadlines, and what happens to lost collectors. CEL cannot read the keys of
# `collectors.kwargs`, so `collector_kwargs` checks them.
OF_THE_SCRIPT: Final = (
    "environment",
    "policy",
    "collection",
    "weights",
    "replayBuffer",
    "output",
    "collectors.class",
    "collectors.devices",
    "collectors.noCudaSync",
    "collectors.preCollectHook",
    "collectors.postCollectHook",
)
# Exceptions: even with a script, the manifest sets these inner fields, because the launcher determines the transport.
_OF_THE_FLEET: Final = {"collection": frozenset({"transport"})}
_REQUIRED: Final = {
    "environment": ("has(self.environment)", "the environment that the collectors step"),
    "collection.framesPerBatch": ("has(self.collection.framesPerBatch)", "the frames of a batch"),
}
_DEVICES: Final = tuple(field.alias for field in Devices.model_fields.values())


# A spec with default values only.
_DEFAULT_SPEC: Final = CollectorFleetSpec(image="-")


def _kebab(path: str) -> str:
    return re.sub("([A-Z])", r"-\1", path.replace(".", "-")).lower()


def _runs_script(spec: CollectorFleetSpec) -> bool:
    return spec.driver.script is not None


def _required(path: str, cel: str, what: str) -> Combination:
    return Combination(
        f"{_kebab(path)}-without-a-script",
        path,
        lambda spec: _runs_script(spec) or spec.at(path) is not None,
        f"{SCRIPT} || {cel}",
        f"missing, and required: {what}; only a fleet with driver.script omits this field",
    )


def _forbidden_with_script(path: str) -> Combination:
    return Combination(
        f"{_kebab(path)}-is-the-scripts",
        path,
        lambda spec: not _runs_script(spec) or _manifest_value(spec, path) == _manifest_value(_DEFAULT_SPEC, path),
        f"!{SCRIPT} || ({_untouched(path)})",
        "driver.script sets this in its FleetCollector; leave this field out",
    )


def _manifest_value(spec: CollectorFleetSpec, path: str) -> Any:
    """Return the value at a path, without the fields that the manifest sets even with a script."""
    found, of_the_fleet = spec.at(path), _OF_THE_FLEET.get(path)
    return found.model_dump(exclude=of_the_fleet) if of_the_fleet else found


def _untouched(path: str) -> str:
    """Return the CEL that is true if a spec leaves a path at its default.

    The API server fills in defaults, so an explicit default looks the same.
    """
    default = _DEFAULT_SPEC.at(path)
    if default is None:
        return f"!has(self.{path})"
    if isinstance(default, Model):
        of_the_fleet = _OF_THE_FLEET.get(path, frozenset())
        inner = (
            field.alias
            for name, field in type(default).model_fields.items()
            if field.alias and name not in of_the_fleet
        )
        return " && ".join(_untouched(f"{path}.{name}") for name in inner)
    if isinstance(default, list | dict):
        return f"(!has(self.{path}) || self.{path}.size() == 0)"
    return f"self.{path} == {_literal(default)}"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else repr(value)


SCRIPTS: Final = (
    Combination(
        "not-train-and-script",
        "driver.script",
        lambda spec: not (_runs_script(spec) and spec.driver.train is not None),
        f"!({SCRIPT} && has(self.driver.train))",
        "set either driver.train or driver.script, because each batch has one consumer",
    ),
    Combination(
        "args-need-a-script",
        "driver.args",
        lambda spec: _runs_script(spec) or not spec.driver.args,
        f"{SCRIPT} || !has(self.driver.args) || self.driver.args.size() == 0",
        "only a driver.script takes arguments; set the arguments of a function in driver.train.kwargs",
    ),
    *(_required(path, cel, what) for path, (cel, what) in _REQUIRED.items()),
    *(_forbidden_with_script(path) for path in OF_THE_SCRIPT if path != "output"),
    # CEL cannot read the keyword arguments of a group's environment.
    Combination(
        "groups-differ-by-the-script",
        "collectors.groups",
        lambda spec: (
            not _runs_script(spec)
            or all(
                group.environment == GroupEnvironment() and group.devices == Devices()
                for group in spec.collectors.groups
            )
        ),
        f"!{SCRIPT} || !has(self.collectors.groups) || self.collectors.groups.all(g, "
        "!has(g.environment.factory) && !has(g.environment.process) && ["
        + ", ".join(f"has(g.devices.{name})" for name in _DEVICES)
        + "].all(given, !given))",
        "driver.script sets environments and devices in its FleetCollector; leave environment and devices of each "
        "group out",
    ),
)
