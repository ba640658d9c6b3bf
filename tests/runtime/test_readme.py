"""The Python of the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cluster.binaries import ROOT
from tests.forks import program


def test_the_python_of_the_readme_collects_frames_of_growing_versions(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    script = tmp_path / "script.py"
    script.write_text(code)
    done = program.run([script], timeout=200)
    assert done.returncode == 0, done.stderr
    seen = re.findall(r"^(\d+) frames of versions \[(\d+)\]$", done.stdout, flags=re.MULTILINE)
    assert [int(frames) for frames, _ in seen] == [400] * 10
    versions = [int(version) for _, version in seen]
    # In any order: the batches are of two collectors, of which one may be slower than the other.
    assert min(versions) >= 1
    assert max(versions) > min(versions)
