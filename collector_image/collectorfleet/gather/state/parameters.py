"""The parameters of a fleet's environments: their values, scopes and versions."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from collectorfleet.messages import Parameters


@dataclass
class _Scope:
    """The parameters of a set of collectors. ``values`` has the value of each name, and the version that set it."""

    version: int = 0
    values: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def set(self, version: int, values: Mapping[str, Any]) -> None:
        self.version = version
        self.values |= {name: (version, value) for name, value in values.items()}


class FleetParameters:
    """The parameters of all collectors. ``version`` counts changes. Version 0 has the parameters at build time.

    A change does not affect parameters that it does not name. A parameter may be set for one collector, for the
    collector's group and for all collectors. The newest of these values applies.
    """

    def __init__(self) -> None:
        self.version = 0
        self._all = _Scope()
        self._groups: dict[str, _Scope] = {}
        self._collectors: dict[str, _Scope] = {}

    def set_for_all(self, values: Mapping[str, Any]) -> int:
        """Set values for all collectors. Return the new version.

        These values also replace values that were set for groups and for single collectors.
        """
        self.version += 1
        self._all.set(self.version, values)
        for scope in (*self._groups.values(), *self._collectors.values()):
            for name in values:
                scope.values.pop(name, None)
        return self.version

    def set_for_group(self, group: str, values: Mapping[str, Any]) -> int:
        """Set values for one group. Return the new version."""
        self.version += 1
        self._groups.setdefault(group, _Scope()).set(self.version, values)
        return self.version

    def set_by_collector(self, values: Mapping[str, Mapping[str, Any]]) -> int:
        """Set values for single collectors. Return the new version, which is the same for all these collectors."""
        self.version += 1
        for collector, own in values.items():
            self._collectors.setdefault(collector, _Scope()).set(self.version, own)
        return self.version

    def of(self, collector: str, group: str | None) -> Parameters:
        """Return the parameters of this collector.

        Their version is the version of the newest change that affects this collector.
        """
        scopes = self._scopes(collector, group)
        newest: dict[str, tuple[int, Any]] = {}
        for scope in scopes:
            for name, (version, value) in scope.values.items():
                if name not in newest or newest[name][0] < version:
                    newest[name] = (version, value)
        values = {name: value for name, (_, value) in newest.items()}
        return Parameters(max(scope.version for scope in scopes), deepcopy(values))

    def version_of(self, collector: str, group: str | None) -> int:
        """Return the version of the newest change that affects this collector."""
        return max(scope.version for scope in self._scopes(collector, group))

    def _scopes(self, collector: str, group: str | None) -> list[_Scope]:
        found = [self._all]
        if group is not None and group in self._groups:
            found.append(self._groups[group])
        if collector in self._collectors:
            found.append(self._collectors[collector])
        return found

    @property
    def for_all(self) -> dict[str, Any]:
        """The values that were set for all collectors."""
        return _plain(self._all)

    @property
    def for_groups(self) -> dict[str, dict[str, Any]]:
        """The values that were set for single groups, by the name of the group."""
        return {name: _plain(scope) for name, scope in self._groups.items() if scope.values}

    @property
    def for_collectors(self) -> dict[str, dict[str, Any]]:
        """The values that were set for single collectors, by the name of the collector."""
        return {name: _plain(scope) for name, scope in self._collectors.items() if scope.values}

    def copy(self) -> FleetParameters:
        """Return a deep copy."""
        return deepcopy(self)

    def state_dict(self) -> dict[str, Any]:
        return {
            "version": self.version,
            "all": _state(self._all),
            "groups": {name: _state(scope) for name, scope in self._groups.items()},
            "collectors": {name: _state(scope) for name, scope in self._collectors.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from the result of :meth:`state_dict`."""
        self.version = int(state["version"])
        self._all = _scope(state["all"])
        self._groups = {name: _scope(one) for name, one in state["groups"].items()}
        self._collectors = {name: _scope(one) for name, one in state["collectors"].items()}


def _plain(scope: _Scope) -> dict[str, Any]:
    return deepcopy({name: value for name, (_, value) in scope.values.items()})


def _state(scope: _Scope) -> dict[str, Any]:
    return deepcopy({"version": scope.version, "values": {name: list(one) for name, one in scope.values.items()}})


def _scope(state: Mapping[str, Any]) -> _Scope:
    return _Scope(int(state["version"]), {name: (int(one[0]), one[1]) for name, one in state["values"].items()})
