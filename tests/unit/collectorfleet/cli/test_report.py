"""``collectorfleet report`` of several runs: which files it reads, and what it refuses."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.collectorfleet.cli import played_api
from tests.unit.collectorfleet.cli.played_api import FLEET, NAME, ApiServer, Request
from tests.unit.collectorfleet.display.comparison.made_runs import run

from collectorfleet.cli.main import main
from collectorfleet.timeline import files
from collectorfleet.timeline.packed import pack

Capsys = pytest.CaptureFixture[str]

NAME_ANOTHER = "; name a fleet, or the folder of `collectorfleet run --checkpoint`\n"


def written(folder: Path, name: str, lr: float, seed: int) -> str:
    """The folder of a run, as the run leaves it."""
    made = run(name, lr=lr, seed=seed)
    timeline = made.timeline.model_copy(update={"configuration": made.configuration})
    (folder / name).mkdir()
    (folder / name / files.NAME).write_text(json.dumps(timeline.to_wire()))
    return str(folder / name)


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    return [written(tmp_path, name, 1e-3, seed) for seed, name in enumerate(("first", "second"))]


def test_several_folders_make_one_page(
    two: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *two]) == 0
    assert capsys.readouterr().out == "comparison.html\n"
    page = Path("comparison.html").read_text()
    assert "Comparison of 2 runs in 1 group" in page
    assert all(folder in page for folder in two)


def test_a_program_reads_the_exact_name_of_the_page(two: list[str], tmp_path: Path, capsys: Capsys) -> None:
    """A terminal would get a plain space for each of these."""
    page = tmp_path / "\u30ec\u30dd\u30fc\u30c8\u3000at 5\u202fPM.html"
    assert main(["report", *two, "-o", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}\n"


def test_a_fleet_on_a_cluster_is_compared_with_a_folder(
    two: list[str], lab: ApiServer, tmp_path: Path, capsys: Capsys
) -> None:
    def answer(request: Request) -> None:
        if request.path.endswith("-timeline"):
            packed = base64.b64encode(pack(run().timeline)).decode()
            request.send_json({"kind": "ConfigMap", "binaryData": {"timeline.json.gz": packed}})
        else:
            request.serve()

    lab.answer = answer
    page = tmp_path / "page.html"
    assert main(["report", two[0], NAME, "-o", str(page)]) == 0, capsys.readouterr().err
    assert "Comparison of 2 runs in 2 groups" in page.read_text()
    assert FLEET["spec"]["driver"]["train"]["function"] in page.read_text()


def test_a_run_that_is_given_twice_is_refused(two: list[str], capsys: Capsys) -> None:
    again = f"{two[0]}/../first"
    with pytest.raises(SystemExit) as ended:
        main(["report", *two, again])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {again}: the run is given twice; name each run once\n")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        pytest.param(Path.unlink, "does not exist; name the folder of `collectorfleet run --checkpoint`", id="none"),
        pytest.param(lambda file: file.write_text("{"), "Expecting property name enclosed in double quotes", id="cut"),
        pytest.param(lambda file: file.write_bytes(b"\xff\xfe\xff"), "can't decode byte", id="no text"),
        pytest.param(lambda file: file.write_text("[]"), "should be an object", id="no object"),
        pytest.param(lambda file: (file.unlink(), file.mkdir()), "Is a directory", id="a folder"),
        pytest.param(
            lambda file: file.write_text('{"fleet": "f", "began": 1.0}'), "it has no returns yet", id="no returns"
        ),
    ],
)
def test_a_run_that_cannot_be_read_is_named_in_one_sentence(
    two: list[str], capsys: Capsys, spoil: Callable[[Path], object], sentence: str
) -> None:
    spoil(Path(two[1]) / files.NAME)
    assert main(["report", *two]) == 64
    said = capsys.readouterr().err
    assert two[1] in said
    assert sentence in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("others", [[], ["first"]], ids=["a page", "a comparison"])
def test_a_pipe_in_place_of_the_timeline_is_refused_at_once(
    two: list[str], tmp_path: Path, capsys: Capsys, others: list[str]
) -> None:
    file = Path(two[1], files.NAME)
    file.unlink()
    os.mkfifo(file)
    assert main(["report", two[1], *(str(tmp_path / name) for name in others)]) == 64
    assert capsys.readouterr().err == f"error: {file} is a pipe, a socket or a device; name a regular file\n"


@pytest.mark.parametrize("make", [os.mkfifo, Path.touch], ids=["a pipe", "a file"])
def test_a_run_that_is_no_folder_is_refused_at_once(
    tmp_path: Path, capsys: Capsys, make: Callable[[Path], object]
) -> None:
    run = tmp_path / "run"
    make(run)
    assert main(["report", str(run)]) == 64
    assert capsys.readouterr().err == (
        f"error: {run} is not a folder; name a fleet on a cluster, or the folder of `collectorfleet run --checkpoint`\n"
    )


@pytest.mark.parametrize(
    "content",
    [
        *("{", "[]", "[" * 100_000),
        '{"fleet": "cheetah", "began": 1e308}',
        '{"fleet": "cheetah", "began": -1e308}',
        '{"fleet": "cheetah", "began": 1, "times": [1, 2], "series": {"available": [1]}}',
        '{"fleet": "cheetah", "began": 1, "times": [1e300], "series": {}}',
    ],
    ids=["half", "list", "deep", "after all dates", "before all dates", "a series that is too short", "a late time"],
)
def test_the_page_of_one_run_names_a_file_that_is_no_timeline(tmp_path: Path, capsys: Capsys, content: str) -> None:
    (tmp_path / files.NAME).write_text(content)
    assert main(["report", str(tmp_path)]) == 64
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / files.NAME}: ")


def test_a_full_disk_is_no_wrong_name(two: list[str], capsys: Capsys) -> None:
    for runs in (two, two[:1]):
        assert main(["report", *runs, "-o", "/dev/full"]) == 1
        assert capsys.readouterr().err == "error: /dev/full: No space left on device\n"


def test_a_page_that_cannot_be_written_is_named(two: list[str], capsys: Capsys) -> None:
    assert main(["report", *two, "-o", "no/such/page.html"]) == 64
    assert capsys.readouterr().err == "error: no/such/page.html: No such file or directory\n"


@pytest.mark.parametrize("others", [[], ["first"]], ids=["one run", "several runs"])
def test_a_name_that_is_neither_a_folder_nor_a_fleet_is_said_to_be_neither(
    others: list[str], two: list[str], lab: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    def answer(request: Request) -> None:
        name = request.path.partition("?")[0].rpartition("/")[2]
        request.send_json(played_api.not_found("collectorfleets", name), 404)

    lab.answer = answer
    monkeypatch.chdir(tmp_path)
    assert main(["report", "typo", *others]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: no fleet typo in namespace ")
    assert said.endswith(f"; no folder typo exists{NAME_ANOTHER}")
    Path("typo").mkdir()
    assert main(["report", "typo", *others]) == 1
    assert capsys.readouterr().err.endswith(f"; folder typo has no checkpoint and no timeline.json{NAME_ANOTHER}")


def test_without_a_cluster_the_names_are_said_to_be_no_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", "typo", "other", "--kubeconfig", "missing"]) != 0
    assert capsys.readouterr().err.endswith(f"; no folder typo exists; no folder other exists{NAME_ANOTHER}")
