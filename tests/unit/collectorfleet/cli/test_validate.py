"""``collectorfleet validate``: everything that is wrong with manifests, offline."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml
from tests.manifests import manifest
from tests.unit.collectorfleet.cli.files import written

from collectorfleet.cli.main import main

CODE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}}


def test_a_valid_fleet_is_called_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, manifest())
    assert main(["validate", file]) == 0
    assert capsys.readouterr().out == f"{file}: fleet cheetah is valid\n"


def test_every_problem_is_said_with_its_line_and_the_exit_code_is_64(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, manifest({"spec.collectors.replicaz": 3, "spec.collection.framesPerBatch": 0}))
    assert main(["validate", file]) == 64
    out = capsys.readouterr().out
    assert "error: spec.collectors.replicaz: unknown field" in out
    assert "error: spec.collection.framesPerBatch" in out
    assert out.startswith(f"{file}:")


def test_a_warning_is_printed_and_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bound = {"spec.collection.mode": "Async", "spec.collection.maxStaleness": 1, "spec.collectors.replicas": 16}
    assert main(["validate", written(tmp_path, manifest(bound))]) == 0
    assert "warning:" in capsys.readouterr().out


def test_one_wrong_file_of_several_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, absent, folder = written(tmp_path, manifest()), tmp_path / "no.yaml", tmp_path / "empty"
    folder.mkdir()
    long = "a" * 300
    assert main(["validate", str(absent), long, right, str(folder)]) == 64
    said = capsys.readouterr()
    assert said.out == f"{right}: fleet cheetah is valid\n"
    assert said.err.splitlines() == [
        f"error: {absent}: No such file or directory",
        f"error: {long}: File name too long",
        f"error: {folder}/fleet.yaml: No such file or directory",
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file has no Kubernetes object; name a file with a CollectorFleet"),
        (b"# nothing\n---\n", "the file has no Kubernetes object; name a file with a CollectorFleet"),
        (yaml.safe_dump(CODE).encode(), "the file has no CollectorFleet, only ConfigMap code"),
        (
            yaml.safe_dump_all([{**CODE, "metadata": {"name": name}} for name in "abcde"]).encode(),
            "the file has no CollectorFleet, only ConfigMap a, ConfigMap b, ConfigMap c and 2 more",
        ),
        (yaml.safe_dump({**CODE, "metadata": "code"}).encode(), "the file has no CollectorFleet, only ConfigMap"),
        (yaml.safe_dump({**CODE, "metadata": [1]}).encode(), "the file has no CollectorFleet, only ConfigMap"),
        (b"apiVersion: v1\nkind: List\nitems: null\n", "the file has no CollectorFleet, only List"),
    ],
    ids=["empty", "comments", "another kind", "many", "text as metadata", "list as metadata", "no items"],
)
def test_a_file_without_a_fleet_says_so_and_is_no_error_beside_a_fleet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, sentence: str
) -> None:
    file = tmp_path / "other.yaml"
    file.write_bytes(content)
    assert main(["validate", str(file)]) == 64
    assert capsys.readouterr().out == f"{file}: {sentence}\n"
    assert main(["validate", str(file), written(tmp_path, manifest())]) == 0


@pytest.mark.parametrize(
    ("content", "code", "sentence"),
    [
        (yaml.safe_dump(manifest()).encode(), 0, "stdin: fleet cheetah is valid"),
        (
            b"\x89PNG",
            64,
            "stdin:1: error: not text: byte 0x89 is not UTF-8; name a manifest, or save the file as UTF-8",
        ),
    ],
    ids=["fleet", "binary"],
)
def test_a_dash_is_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: bytes, code: int, sentence: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert main(["validate", "-"]) == code
    assert capsys.readouterr().out == f"{sentence}\n"


def test_standard_input_that_is_closed_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    for command in ("validate", "render"):
        assert main([command, "-"]) == 64
        assert capsys.readouterr().err == (
            "error: stdin: standard input is closed; name a file, or write to standard input\n"
        )


def test_a_file_of_other_things_is_not_a_page_of_problems_for_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.yaml"
    file.write_text("---\na: 1\n" * 1001)
    assert main(["validate", str(file)]) == 64
    *problems, last = capsys.readouterr().out.splitlines()
    assert len(problems) == 200
    assert problems[-1].startswith(f"{file}:400: error: kind: missing")
    assert last == f"{file}: not shown: 801 more problems; correct the problems above first"


def test_errors_are_shown_although_the_file_has_many_warnings_before_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "code"}, "data": {"a.py": ""}}
    fleets = [manifest(name=f"f{number}") for number in range(201)]
    for fleet in fleets:
        own = {key: fleet["spec"][key] for key in ("image", "collectors")}
        fleet["spec"] = {**own, "code": {"configMap": "code"}, "driver": {"script": "train.py"}}
    file = written(tmp_path, code, *fleets, {"kind": "Odd"})
    assert main(["render", file]) == 64
    *problems, last = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in problems] == ["warning"] * 199 + ["error"]
    assert last == f"{file}: not shown: 2 more problems; correct the problems above first"


def test_a_problem_of_a_pod_is_said_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = {"spec": {"containers": [{"name": "ray-worker", "env": [{"name": "A", "value": 1}]}]}}
    file = written(tmp_path, manifest({"spec.workers.template": template}))
    line = Path(file).read_text().splitlines().index("            value: 1") + 1
    assert main(["validate", file]) == 64
    assert capsys.readouterr().out == (
        f"{file}:{line}: error: spec.workers.template.spec.containers[0].env[0].value: "
        "1 is a number, and text is expected; put it in quotes\n"
    )
