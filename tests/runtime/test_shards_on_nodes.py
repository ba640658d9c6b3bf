"""Ten policies on four nodes of one GPU, one of which dies: its shard comes back whole, and no other moves."""

from __future__ import annotations

from tests.forks import program
from tests.runtime import shards_lose_a_node


def test_all_ten_policies_on_four_gpus_have_a_place_and_a_lost_nodes_shard_comes_back_whole() -> None:
    done = program.run(["-m", shards_lose_a_node.__name__], timeout=500)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.splitlines()[-4:] == [
        "ten policies of 0.3333 GPU, on nodes of [2, 2, 3, 3]",
        "3 came back on one other node: True, with their replay actor: True",
        "others stayed: True",
        f"they know: True, frames: {[8] * 10}",
    ]
