"""The training functions of docs/train.md train the fleets of examples."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from tests.cluster.binaries import ROOT
from tests.manifests import changed
from tests.run.run_process import run, write

PAGE = (ROOT / "docs/train.md").read_text()


def blocks(language: str, word: str) -> list[str]:
    """Return the code of the page in a language that has a word."""
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)
    return [block for block in found if word in block]


def test_each_training_function_of_the_page_is_run() -> None:
    assert len(blocks("python", "def train(")) == len(blocks("yaml", "my_train:train")) == 2


@pytest.mark.parametrize(
    ("number", "example", "metrics"),
    [
        pytest.param(0, "cartpole", {"loss", "reward"}, id="a loop"),
        pytest.param(1, "ppo_trainer", {"loss_objective"}, id="a trainer"),
    ],
)
def test_a_training_function_of_the_page_trains_the_example(
    number: int, example: str, metrics: set[str], tmp_path: Path
) -> None:
    fleet, code = yaml.safe_load_all((ROOT / f"examples/{example}.yaml").read_text())
    code["data"]["my_train.py"] = blocks("python", "def train(")[number]
    spec = yaml.safe_load(blocks("yaml", "my_train:train")[number])
    small = {"spec.collection.totalFrames": 4096, "spec.driver.train": spec["driver"]["train"]}
    fleet = changed(fleet, small | {f"spec.{name}": spec[name] for name in spec if name != "driver"})
    done = run(write(tmp_path, fleet, code), "-o", "json")
    assert done.returncode == 0, done.stderr
    progress = json.loads(done.stdout)["progress"]
    assert progress["framesDelivered"] == 4096
    assert metrics <= set(progress["metrics"])
