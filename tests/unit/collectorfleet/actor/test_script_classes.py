"""What a user's script defines can be looked up in a collector, which runs another script."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import FunctionType

import torch
from ray import cloudpickle
from tensordict.nn import TensorDictModule
from tests.forks.program import run

from collectorfleet.actor.script_classes import make_importable

SCRIPT = """
import sys
import torch
from ray import cloudpickle
from tensordict.nn import TensorDictModule

def squash(x):
    return torch.tanh(x)

class Network(torch.nn.Module):
    def forward(self, x):
        return squash(x)

policy = TensorDictModule(torch.nn.Sequential(Network()), ["observation"], ["action"])
given = TensorDictModule(lambda x: squash(x), ["observation"], ["action"])
open(sys.argv[1], "wb").write(cloudpickle.dumps((policy, given)))
"""


def globals_of(function: FunctionType) -> dict[str, object]:
    return function.__globals__


def test_globals_of_a_script_are_those_of_a_module_that_can_be_imported(tmp_path: Path) -> None:
    script, pickled = tmp_path / "script.py", tmp_path / "policies"
    script.write_text(SCRIPT)
    done = run([script, pickled], timeout=150)
    assert done.returncode == 0, done.stderr
    policies: tuple[TensorDictModule, TensorDictModule] = cloudpickle.loads(pickled.read_bytes())
    of_class, of_function = type(policies[0].module[0]).forward, policies[1].module
    assert {globals_of(one)["__name__"] for one in (of_class, of_function)} == {"__main__"}
    for policy in policies:
        make_importable(policy)
        make_importable(policy)
    for function in (of_class, of_function):
        names = globals_of(function)
        module = import_module(str(names["__name__"]))
        assert module.__name__ != "__main__"
        assert module.squash is names["squash"]
    assert globals_of(globals_of(of_class)["squash"])["torch"] is torch  # type: ignore[arg-type]


def test_globals_of_this_process_stay() -> None:
    main = sys.modules["__main__"]
    before = main.__name__
    make_importable(TensorDictModule(torch.nn.Tanh(), ["observation"], ["action"]))
    assert main.__name__ == before
