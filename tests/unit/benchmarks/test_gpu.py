"""The measurements on one GPU: their tables, the order of their rounds, and the process that acts for many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from benchmarks.gpu import serving
from benchmarks.gpu.results import Results, alternate, markdown
from torch import Tensor, nn


def test_a_table_has_a_row_for_each_thing_and_a_column_for_each_case(tmp_path: Path) -> None:
    results = Results("transport", tmp_path / "lines")
    for value in (1.0, 3.0, 2.0):
        results.add("a copy", "4 MB", value)
    results.add("a copy", "40 MB", 20.0)
    results.fail("CUDA IPC", "4 MB", RuntimeError("invalid device context\nand more"))
    assert markdown(results.lines()).splitlines() == [
        "| transport | 4 MB | 40 MB |",
        "| --- | --- | --- |",
        "| a copy, ms | 2 (1-3, n=3) | 20 |",
        "| CUDA IPC | RuntimeError: invalid device context | - |",
    ]


def test_rounds_alternate_without_the_first_and_without_works_that_fail(tmp_path: Path) -> None:
    results, called = Results("weights", tmp_path / "lines"), list[str]()

    def work(name: str) -> float:
        called.append(name)
        if name == "failing":
            raise ValueError("no")
        return float(len(called))

    works = {(name, "all"): (lambda n=name: work(n)) for name in ("first", "failing", "second")}
    alternate(results, works, most=2, seconds=60)
    assert called == ["second", "failing", "first", "first", "second", "second", "first"]
    lines = {line["what"]: line for line in results.lines()}
    assert (lines["first"]["n"], lines["first"]["min"], lines["first"]["max"]) == (2, 4.0, 7.0)
    assert lines["failing"]["error"] == "ValueError: no"
    assert len((tmp_path / "lines").read_text().splitlines()) == 3


class FirstPixel(nn.Module):
    """The action is the first pixel of each observation."""

    def forward(self, observation: Tensor) -> Tensor:
        return observation[:, 0, 0, 0].to(torch.int64)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_each_client_gets_the_actions_of_its_own_observations(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "NETWORKS", {"first pixel": FirstPixel})
    clients, steps = 4, 25
    shared = serving.Shared.of(clients, envs=2)
    serve = serving.make_server("cpu", shared)
    shared.is_open[0] = True

    def collect(client: int) -> list[list[int]]:
        found = []
        for step in range(steps):
            shared.observations[client, 0], shared.observations[client, 1] = client, step
            shared.waiting[client] = True
            shared.requests.release()
            assert shared.done[client].acquire(timeout=20)
            found.append(shared.actions[client].tolist())
        return found

    with ThreadPoolExecutor(clients + 1) as threads:
        message = {"network": "first pixel", "clients": clients, "most": most, "warm_up": False}
        served = threads.submit(serve, message, 0.0)
        collected = list(threads.map(collect, range(clients)))
        shared.is_open[0] = False
        assert 1 <= served.result(20) <= most
    assert collected == [[[client, step] for step in range(steps)] for client in range(clients)]
