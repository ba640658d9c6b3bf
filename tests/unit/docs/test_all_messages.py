"""The page of all messages is current, and the program that writes it finds messages of each form."""

from __future__ import annotations

import ast

import pytest
from tests.messages.chart_files import alerts, notes, refusals
from tests.messages.page import PAGE, page
from tests.messages.python_source import messages_of

# A value such as `names.GROUP`, whose text the program knows.
CONSTANTS = {"HINT": ["set spec.suspend"], "names.GROUP": ["collectorfleet.dev"]}


def found(source: str) -> list[str]:
    return list(messages_of(ast.parse(source), CONSTANTS))


def test_the_written_page_is_what_the_source_says() -> None:
    assert PAGE.read_text() == page(), "stale: run `make generate`"


@pytest.mark.parametrize(
    ("source", "messages"),
    [
        ('raise ValueError(f"{path}: {size:.1f} MiB are too many")', ["…: … MiB are too many"]),
        ('text = f"{a}{b} of {c} collectors " + "are" + suffix', ["… of … collectors are…"]),
        ('text = "pod %s waited for %.1f s" % (pod, waited)', ["pod … waited for … s"]),
        ('text = "pod {} waited for {seconds} s".format(pod)', ["pod … waited for … s"]),
        ('log.warning("pod %s: %d tries", pod, tries)', ["pod …: … tries"]),
        ('text = f"label of {names.GROUP}; {HINT}"', ["label of collectorfleet.dev; set spec.suspend"]),
        (
            "text = f\"the pod {'ends' if done else 'runs'} on {node or 'no node'}\"",
            ["the pod ends on …", "the pod runs on …", "the pod ends on no node"],
        ),
        ('text = "the pod runs" if running else "the pod has ended"', ["the pod runs", "the pod has ended"]),
        ("text = f\"{pod}: {describe('the pod is lost')}\"", ["the pod is lost"]),
        ('HINTS = {"a key of it": "free the volume first"}', ["free the volume first"]),
        ('Port = Annotated[str, matching("a+", "is not a port; write a number")]', ["is not a port; write a number"]),
        ('raise Refused("write {key: gpu} or team!=a")', ["write {key: gpu} or team!=a"]),
        ('parser.add_argument("--all", help="all fleets")', ["all fleets"]),
        ('raise Refused("too large", key="of a pod")', ["too large", "of a pod"]),
        ("Rule('self.a > 0', \"'%d is too small; use %d'.format([self.a, 1])\")", ["… is too small; use …"]),
    ],
)
def test_a_message_is_found_with_an_ellipsis_for_each_value(source: str, messages: list[str]) -> None:
    assert found(source) == messages


@pytest.mark.parametrize(
    "source",
    [
        '"""The docstring of a module."""',
        'def f():\n    """Return the docstring of a function."""',
        'name: str = Field(description="The name of the fleet.")',
        'if "the words of another program" in text:\n    pass',
        'WORDS = "the words of another program"\nlost = WORDS in text',
        'pattern = re.compile("one (of|or) another")',
        'key = found["a key of it"]',
        'key = "replay buffer"',
        'CUT = "\\0a value that was cut"',
        'row = "<td class=name>the name of it</td>"',
        'rule = "!self.weights.updateAfterEachBatch || has(self.driver.train)"',
        'class Part(Enum):\n    WATCHED = "at once and by lists"',
    ],
)
def test_a_text_that_is_no_message_is_left_out(source: str) -> None:
    assert found(source) == []


def test_a_word_that_the_file_also_says_is_found() -> None:
    assert found('WORDS = "the pod is lost"\nprint(WORDS)\nlost = WORDS in text') == ["the pod is lost"]


def test_notes_of_a_chart_are_paragraphs_and_commands() -> None:
    template = (
        '{{- $name := "a" }}\nThe fleet {{ $name }}\nis made.\n{{- if .a }}\n\nWatch it:\n  kubectl get {{ $name }}\n'
    )
    assert list(notes(template)) == ["The fleet … is made.", "Watch it:", "kubectl get …"]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ('{{- fail (printf "%s: %q is \\"odd\\"" $a $b) }}', '…: … is "odd"'),
        ('{{- fail "code: missing" }}', "code: missing"),
        ("    message: status.{{ . }} is not yours", "status.… is not yours"),
        ('health.message = "not looked at yet"', "not looked at yet"),
    ],
)
def test_a_refusal_of_a_chart_is_found(template: str, message: str) -> None:
    assert list(refusals(template)) == [message]


def test_an_alert_has_its_summary() -> None:
    rules = 'groups:\n- rules:\n  - {alert: Down, annotations: {summary: "Fleet {{ $labels.fleet }} is down."}}\n'
    assert list(alerts(rules)) == [("Down", "Fleet … is down.")]


def test_characters_of_markdown_are_escaped() -> None:
    lines = PAGE.read_text().splitlines()
    (row,) = [line for line in lines if "git rev-parse HEAD" in line]
    assert r"as \`git rev-parse HEAD\` prints it" in row
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) > 1500
    assert [row for row in rows if row.count("|") != 3] == []
