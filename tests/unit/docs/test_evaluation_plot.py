"""The page about evaluations plots results from a folder and from a fleet on a cluster."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from tests.cluster.binaries import ROOT

import collectorfleet.client
from collectorfleet.durable_files import write_json
from collectorfleet.timeline import files
from collectorfleet.timeline.timeline import Evaluated, Timeline

(SNIPPET,) = re.findall(
    r"```python\n(import json\n[^`]*matplotlib[^`]*)```", (ROOT / "docs/evaluation.md").read_text(), re.DOTALL
)
ON_A_CLUSTER = re.compile(r"^found = .*\n# On a cluster: (found = .*)$", re.MULTILINE)
TIMELINE = Timeline(
    fleet="first",
    began=0,
    evaluations=[
        Evaluated(time=1, version=10, frames=2048, return_mean=20.5, standard_error=1.5, episodes=10),
        Evaluated(time=2, version=20, frames=4096, return_mean=40.0, episodes=1),
    ],
)


class PlayedFleets:
    def timeline(self, name: str) -> Timeline:
        assert name == "NAME"
        return TIMELINE


@pytest.mark.parametrize("place", ["a folder", "a cluster"])
def test_the_plot_has_the_results_and_the_names_of_its_axes(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpl.use("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(collectorfleet.client, "Fleets", PlayedFleets)
    (tmp_path / "runs/first").mkdir(parents=True)
    write_json(tmp_path / "runs/first" / files.NAME, TIMELINE.to_wire())
    snippet = SNIPPET if place == "a folder" else ON_A_CLUSTER.sub(r"\1", SNIPPET)
    assert ("\nfound = [" in snippet) == (place == "a cluster")
    names: dict[str, Any] = {}
    exec(snippet, names)
    try:
        axes = names["plt"].gca()
        assert axes.lines[0].get_xydata().tolist() == [[2048, 20.5], [4096, 40.0]]
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("delivered frames", "mean return, with its standard error")
        assert (tmp_path / "evaluations.png").stat().st_size > 1000
    finally:
        names["plt"].close("all")
