"""The text of docs/all-messages.md."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tests.cluster.binaries import ROOT
from tests.messages.chart_files import alerts, chart_messages
from tests.messages.python_files import python_messages

PAGE: Final = ROOT / "docs/all-messages.md"

_HEAD: Final = """\
<!-- Written from the source by `make generate`; change that. -->
# All messages

Search this page for a part of your message. An ellipsis (…) stands for a name, a number, or the text of another line.
The program may join several lines to one message. The right column has the module or the file.

* [Messages](messages.md) says what to do for the messages that do not say so themselves.
* [Conditions and reasons](conditions.md) lists the reasons.
* [Fields](reference.md) has the descriptions of fields, which `kubectl explain` prints.
* [Metrics](metrics.md) has the descriptions of metrics.

A program finds the messages in the source. It takes each text of errors, warnings, lines of logs, help texts and
printed lines. It takes other texts if they have three words, or two words and an ellipsis.
The page leaves out messages of other programs, names that the program puts into a message, and the texts on the pages
that `collectorfleet report` writes.
"""


@dataclass(frozen=True)
class _Group:
    title: str
    text: str
    modules: tuple[str, ...]


# A module belongs to the first group that names the module or a package around it.
_GROUPS: Final = (
    _Group(
        "Events",
        "An Event has the reason why the operator creates or deletes an object, or the message of a condition.",
        (
            "collectorfleet_operator.decide.events",
            "collectorfleet_operator.decide.plan",
            "collectorfleet_operator.decide.replacing",
            "collectorfleet_operator.decide.upkeep",
            "collectorfleet_operator.children",
        ),
    ),
    _Group(
        "Conditions",
        "The operator writes these messages into `status.conditions`. A local run prints some of them.",
        ("collectorfleet_operator.decide", "collectorfleet_api.conditions"),
    ),
    _Group("The operator's log and options", "The operator logs these messages.", ("collectorfleet_operator",)),
    _Group(
        "`collectorfleet validate` and the API server",
        "`collectorfleet validate`, the API server and the operator refuse manifests with these messages.",
        ("collectorfleet_api",),
    ),
    _Group(
        "The command line and the Python client",
        "Commands and the client say these messages, and `--help` prints the help texts.",
        ("collectorfleet.cli", "collectorfleet.client", "collectorfleet.display", "collectorfleet.local"),
    ),
    _Group(
        "The driver and FleetCollector",
        "The driver, collectors, evaluators and learners say these messages.",
        ("collectorfleet",),
    ),
)
# The reference, the CRD and the remedies are on pages themselves, templates become the user's files, and reports are
# pages of a run.
_LEFT_OUT: Final = (
    "collectorfleet_api.conditions.remedies",
    "collectorfleet_api.schema",
    "collectorfleet.cli.templates",
    "collectorfleet.display.comparison.page",
    "collectorfleet.display.report",
)


def page() -> str:
    """Return the text of the page."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for module, message in python_messages(ROOT):
        if not _is_within(module, _LEFT_OUT):
            group = next(one for one in _GROUPS if _is_within(module, one.modules))
            found[group.title].append((message, module.partition(".")[2] or module))
    parts = [_HEAD, *(_section(group.title, group.text, found[group.title]) for group in _GROUPS)]
    charts = [(message, path) for path, message in chart_messages(ROOT / "charts")]
    parts.append(_section("Charts", "Helm prints these messages.", charts))
    rules = (ROOT / "charts/collectorfleet-operator/files/rules.yaml").read_text()
    rows = [f"| {_escaped(text)} | [{name}](runbooks/{name}.md) |\n" for name, text in alerts(rules)]
    parts.append(f"\n## Alerts\n\n| summary | runbook |\n| --- | --- |\n{''.join(sorted(rows, key=_order))}")
    return "".join(parts)


def _is_within(module: str, packages: Iterable[str]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def _section(title: str, text: str, messages: list[tuple[str, str]]) -> str:
    places: dict[str, list[str]] = defaultdict(list)
    for message, place in messages:
        places[message].append(f"`{place}`")
    rows = [f"| {_escaped(one)} | {', '.join(dict.fromkeys(places[one]))} |\n" for one in sorted(places, key=_order)]
    return f"\n## {title}\n\n{text}\n\n| message | from |\n| --- | --- |\n{''.join(rows)}"


def _order(text: str) -> tuple[str, str]:
    """Order texts by their words."""
    return re.sub(r"[\W_]+", " ", text).strip().casefold(), text


def _escaped(text: str) -> str:
    """Return a text for a cell of a table, where Markdown would read some characters as its own."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("|", "&#124;")
    return re.sub(r"[\\`*\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)
