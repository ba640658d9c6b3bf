"""The first training function of docs/train.md trains the fleet of an example."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml
from tests.cluster.binaries import ROOT
from tests.manifests import changed
from tests.run.run_process import run, write


def test_the_first_training_function_of_the_page_trains_the_example(tmp_path: Path) -> None:
    page = (ROOT / "docs/train.md").read_text()
    function = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[0]
    driver = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)[0])["driver"]
    fleet, code = yaml.safe_load_all((ROOT / "examples/cartpole.yaml").read_text())
    code["data"]["my_train.py"] = function
    small = {"spec.collection.totalFrames": 4096, "spec.driver.train": driver["train"]}
    done = run(write(tmp_path, changed(fleet, small), code), "-o", "json")
    assert done.returncode == 0, done.stderr
    progress = json.loads(done.stdout)["progress"]
    assert progress["framesDelivered"] == 4096
    assert {"loss", "reward"} <= set(progress["metrics"])
