"""The files of the chart that speak PromQL, as data."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import yaml
from tests.delivery.helm import CHARTS

FILES = CHARTS / "collectorfleet-operator/files"
RULES = FILES / "rules.yaml"
DASHBOARD = FILES / "dashboard.json"

# What Grafana puts in place of its variables where everything is chosen.
_VARIABLES = {"$__rate_interval": "1m", "$namespace": ".*", "$fleet": ".*"}


@dataclass(frozen=True)
class Query:
    """``shown`` are the labels that its legend or its sentence names."""

    where: str
    expression: str
    shown: frozenset[str]


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alert_queries() -> list[Query]:
    return [
        Query(rule["alert"], rule["expr"], frozenset(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])))
        for rule in alerts()
    ]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def panel_queries() -> list[Query]:
    """As Grafana sends them, with all namespaces and all fleets chosen."""
    return [
        Query(
            f"{panel['title']} {target['refId']}",
            _filled_in(target["expr"]),
            frozenset(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])),
        )
        for panel in panels()
        for target in panel["targets"]
    ]


def variable_queries() -> list[Query]:
    """Of the dashboard's choices: the series, and the label whose values are offered."""
    variables = json.loads(DASHBOARD.read_text())["templating"]["list"]
    asked = [one["query"]["query"] for one in variables if one["type"] == "query"]
    found = [re.fullmatch(r"label_values\((.*), (\w+)\)", one) for one in asked]
    return [Query(one[0], _filled_in(one[1]), frozenset({one[2]})) for one in found if one]


def _filled_in(expression: str) -> str:
    for variable, value in _VARIABLES.items():
        expression = expression.replace(variable, value)
    return expression
