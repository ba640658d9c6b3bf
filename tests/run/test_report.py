"""The page of a run, made while it goes on and of its checkpoints afterwards, and looked at by a real browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.image import imread
from tests.e2e import fleets
from tests.run.run_process import run, write

from collectorfleet.cli.main import main
from collectorfleet.run.checkpoint.unsaved_run import recorded_end
from collectorfleet.timeline import files
from collectorfleet.timeline.timeline import Timeline

BROWSERS = ("chromium", "google-chrome")


def timeline(folder: Path) -> Timeline:
    found = files.read(folder / files.NAME)
    assert found is not None
    return found


def test_a_run_writes_its_page_and_keeps_what_it_is_made_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, kept, page = write(tmp_path, fleets.code(), fleets.fleet(kwargs={"batches": 4})), tmp_path / "kept", "p.html"
    done = run(file, "--report", page, "--checkpoint", str(kept), "-o", "json")
    assert done.returncode == 0, done.stderr
    found = timeline(kept)
    metrics = json.loads(done.stdout)["progress"]["metrics"]
    assert found.series["frames"][-1] == 800
    assert {f"reported/{name}" for name in metrics} <= found.series.keys()
    assert set(found.lives) == {"c0"}
    assert found.ended is not None
    assert found.ended.startswith("completed: ")
    assert main(["report", str(kept)]) == 0
    assert capsys.readouterr().out == f"{kept / 'report.html'}\n"
    assert (kept / "report.html").read_text() == (tmp_path / page).read_text()


def test_a_run_that_goes_on_goes_on_in_its_timeline(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    for batches, how in ((3, ()), (6, ("--resume",))):
        file = write(tmp_path, fleets.code(), fleets.fleet(kwargs={"batches": batches}))
        assert run(file, "--checkpoint", str(kept), *how).returncode == 0
    found = timeline(kept)
    (restart,) = (one.what for one in found.happened)
    assert restart.startswith(
        "the driver was restarted; changed in the spec: driver.train.kwargs.batches; the earlier driver ended with: "
        "completed: "
    )
    assert found.series["frames"][-1] > found.series["frames"][0]
    assert found.times == sorted(found.times)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        pytest.param(
            lambda folder: folder, "does not exist; name the folder of `collectorfleet run --checkpoint`", id="no run"
        ),
        pytest.param(
            lambda folder: (folder / files.NAME).write_text('{"fleet": 3}'),
            "Input should be a valid string",
            id="other",
        ),
    ],
)
def test_what_is_no_run_is_said_to_be_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], object], sentence: str
) -> None:
    make(tmp_path)
    assert main(["report", str(tmp_path)]) == 64
    assert sentence in capsys.readouterr().err


def test_a_page_that_cannot_be_written_is_said_before_anything_starts(tmp_path: Path) -> None:
    file = write(tmp_path, fleets.code(), fleets.fleet(kwargs={"batches": 1}))
    kept = tmp_path / "kept"
    done = run(file, "--report", "no/such/folder/page.html", "--checkpoint", str(kept))
    assert done.returncode == 64
    assert "--report no/such/folder/page.html: the file cannot be written: No such file or directory" in done.stderr
    # The run has not started, so the next run can use the folder.
    assert recorded_end(kept)


@pytest.fixture
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"left out the page in a browser: none of {', '.join(BROWSERS)} is installed")
    return found


@pytest.mark.parametrize("runs", [pytest.param(1, id="one run"), pytest.param(2, id="a comparison")])
@pytest.mark.parametrize(
    ("width", "options", "paper", "line"),
    [
        pytest.param(1000, (), (255, 255, 255), (0, 114, 178), id="wide and light"),
        pytest.param(500, (), (255, 255, 255), (0, 114, 178), id="narrow and light"),
        pytest.param(
            1000, ("--blink-settings=preferredColorScheme=0",), (20, 23, 26), (86, 180, 233), id="wide and dark"
        ),
    ],
)
def test_a_browser_shows_it_and_asks_nobody_for_anything(
    browser: str,
    tmp_path: Path,
    runs: int,
    width: int,
    options: tuple[str, ...],
    paper: tuple[int, int, int],
    line: tuple[int, int, int],
) -> None:
    page, shot, log = tmp_path / "page.html", tmp_path / "shot.png", tmp_path / "net.json"
    folders = [tmp_path / f"run-{number}" for number in range(runs)]
    for folder in folders:
        folder.mkdir()
        stored = json.loads((Path(__file__).parents[1] / "data/timeline.json").read_text())
        (folder / files.NAME).write_text(json.dumps(stored | {"configuration": {}}))
    assert main(["report", *map(str, folders), "-o", str(page)]) == 0
    words = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *options]
    words += [
        "--disable-background-networking",
        "--disable-component-update",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    words += [f"--log-net-log={log}", "--enable-logging=stderr", f"--window-size={width},2000"]
    done = subprocess.run(
        [*words, f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True, text=True, timeout=120
    )
    assert "CONSOLE" not in done.stderr
    # Some that the browser makes of itself have no origin.
    events = [event.get("params", {}) for event in json.loads(log.read_text())["events"]]
    asked = [one["url"] for one in events if one.get("initiator", "not an origin") != "not an origin" and "url" in one]
    assert [url for url in asked if not url.startswith("file:")] == []
    pixels = (imread(shot)[..., :3] * 255).round().astype(int)
    assert pixels.shape == (2000, width, 3)
    assert (pixels == paper).all(-1).mean() > 0.5
    assert (pixels == line).all(-1).sum() > 300
