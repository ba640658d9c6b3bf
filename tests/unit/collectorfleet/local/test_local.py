"""What a run on this machine makes of a manifest that was written for a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.manifests import fleet

from collectorfleet.errors import InvalidOption
from collectorfleet.local.code_files import find_config_map
from collectorfleet.local.gpus import GpuShare, gpu_share
from collectorfleet.local.status import final_status
from collectorfleet.run.exit import Completed, Exit, Stopped, UserError
from collectorfleet_api.manifests.files import load_file, load_manifests
from collectorfleet_api.v1alpha1 import Collectors, DriverReport, Phase, Resources

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def asks(gpu: float, replicas: int = 4) -> Collectors:
    return Collectors(replicas=replicas, resources=Resources(gpu=gpu))


def config_map(name: str = "code", text: str = "x = 1") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{envs.py: {text!r}}}\n"


class TestGpus:
    def test_a_fleet_without_gpus_needs_none(self) -> None:
        assert gpu_share(asks(0), gpus=0) == GpuShare(0)

    def test_what_fits_is_taken_as_it_stands(self) -> None:
        assert gpu_share(asks(0.25), gpus=1) == GpuShare(0.25)
        assert gpu_share(asks(2, replicas=2), gpus=4) == GpuShare(2)

    def test_a_machine_without_gpus_runs_on_the_cpu_and_says_so(self) -> None:
        share = gpu_share(asks(0.25), gpus=0)
        assert share == GpuShare(
            0,
            "collectors.resources.gpu is 0.25 for 4 collectors, and this machine has no GPU: collectors run on the CPU",
        )

    def test_too_few_gpus_are_shared_equally(self) -> None:
        share = gpu_share(asks(1), gpus=1)
        assert share.per_collector == 0.25
        assert "this machine has 1: each gets 0.25" in share.note

    @given(gpu=st.sampled_from([0.1, 0.3, 0.3333, 0.5, 1.0, 2.0]), replicas=st.integers(1, 50), gpus=st.integers(1, 8))
    def test_whatever_is_given_can_be_placed(self, gpu: float, replicas: int, gpus: int) -> None:
        share = round(gpu_share(asks(gpu, replicas), gpus).per_collector * 10_000)
        assert share > 0
        room = gpus * 10_000 // share if share > 10_000 else gpus * (10_000 // share)
        assert room >= replicas


class TestCode:
    def test_the_config_map_of_the_same_file_comes_first(self, tmp_path: Path) -> None:
        (tmp_path / "other.yaml").write_text(config_map(text="x = 2"))
        source = tmp_path / "fleet.yaml"
        found = find_config_map("code", load_manifests(config_map()), source)
        assert found == {"envs.py": "x = 1"}

    def test_a_config_map_beside_the_file_is_found(self, tmp_path: Path) -> None:
        (tmp_path / "code.yaml").write_text(config_map())
        (tmp_path / "notes.yaml").write_text("{not yaml")
        source = tmp_path / "fleet.yaml"
        source.write_text("")
        assert find_config_map("code", load_file(source), source) == {"envs.py": "x = 1"}

    def test_a_missing_config_map_is_said_with_the_place_to_put_it(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidOption, match=r'ConfigMap "code" is not in .*fleet.yaml or a file beside it; add it'):
            find_config_map("code", load_manifests(""), tmp_path / "fleet.yaml")

    def test_two_config_maps_of_one_name_are_not_guessed_between(self, tmp_path: Path) -> None:
        for name in ("a.yaml", "b.yaml"):
            (tmp_path / name).write_text(config_map())
        with pytest.raises(InvalidOption, match=r"is in a\.yaml and b\.yaml; keep one"):
            find_config_map("code", load_manifests(""), tmp_path / "fleet.yaml")


class TestFinalStatus:
    @pytest.mark.parametrize(
        ("ended", "phase", "conditions"),
        [
            pytest.param(
                Completed("t:t returned"),
                Phase.COMPLETED,
                {
                    "Ready": ("True", "Completed"),
                    "Stalled": ("False", "Progressing"),
                    "Completed": ("True", "Completed"),
                },
                id="finished",
            ),
            pytest.param(
                UserError("train t:t: ValueError: no"),
                Phase.FAILED,
                {"Ready": ("False", "Failed"), "Stalled": ("True", "Failed"), "Completed": ("False", "Failed")},
                id="failed",
            ),
            pytest.param(
                Stopped("stopped by Ctrl-C", 130),
                None,
                {
                    "Ready": ("False", "Interrupted"),
                    "Stalled": ("False", "Progressing"),
                    "Completed": ("False", "Interrupted"),
                },
                id="interrupted",
            ),
        ],
    )
    def test_the_ending_becomes_the_conditions_of_a_cluster(
        self, ended: Exit, phase: Phase | None, conditions: dict[str, tuple[str, str]]
    ) -> None:
        status = final_status(fleet().spec, DriverReport(), ended, NOON)
        assert status.phase == phase
        found = {c.type: (c.status, c.reason) for c in status.conditions}
        assert conditions.items() <= found.items()
        assert {"CollectorsAvailable", "WeightsFresh"} <= found.keys()
        messages = {c.message for c in status.conditions if c.type in ("Ready", "Completed")}
        assert messages == {ended.message}
        # Only a cluster has these.
        assert not {"rayCluster", "driver", "observedGeneration", "fleetUID"} & status.to_wire().keys()
