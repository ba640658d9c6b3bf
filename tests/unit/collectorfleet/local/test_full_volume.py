"""A volume without room for the page of ``--report`` is a failure of the volume, and ends the run before it starts."""

from __future__ import annotations

from pathlib import Path

import yaml
from tests.manifests import manifest
from tests.unit.collectorfleet.run.volume import on_a_volume_of_1_mb

from collectorfleet.cli.exit_codes import ExitCode

PROGRAM = """
import sys
from pathlib import Path
from collectorfleet.cli.main import main

volume = Path(sys.argv[1])
try:
    with (volume / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
except OSError:
    pass
sys.exit(main(["run", str(volume.parent / "fleet.yaml"), "--report", str(volume / "page.html")]))
"""


def test_a_page_without_room_is_the_failure_of_a_volume_and_not_of_a_manifest(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (tmp_path / "fleet.yaml").write_text(yaml.safe_dump(manifest()))
    done = on_a_volume_of_1_mb(volume, PROGRAM)
    assert f"--report {volume}/page.html: OSError: [Errno 28] No space left on device (" in done.stderr
    assert "of 1,048,576 bytes left" in done.stderr
    assert "make room on the volume" in done.stderr
    assert done.returncode == ExitCode.FAILED
