"""TorchRL's other distributed collectors: the same arguments, and each has a meaning or a sentence."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from tests.gym_envs import make_chance
from torch import nn
from torchrl.collectors import distributed as theirs
from torchrl.collectors.distributed import DistributedCollector as Theirs

from collectorfleet import InvalidOption
from collectorfleet.fleet import distributed as ours
from collectorfleet.fleet.options import FleetOptions

NAMES = ["DistributedCollector", "DistributedSyncCollector", "RPCCollector"]
OPTIONS: dict[str, Any] = {
    "DistributedCollector": ours._Distributed,
    "DistributedSyncCollector": ours._DistributedSync,
    "RPCCollector": ours._Rpc,
}


def made(name: str, **changes: Any) -> dict[str, Any]:
    given = {"create_env_fn": [make_chance] * 2, "frames_per_batch": 20, "launcher": "mp"} | changes
    arguments: dict[str, Any] = OPTIONS[name](**given).for_fleet()
    return arguments


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_torchrls_with_their_defaults(name: str) -> None:
    mine, other = (inspect.signature(getattr(module, name).__init__).parameters for module in (ours, theirs))
    assert set(mine) == set(other)
    for argument, parameter in other.items():
        assert mine[argument].kind == parameter.kind or argument == "self"
        # update_interval of the sync one has to be told from one that was given.
        if argument not in ("self", "update_interval"):
            assert mine[argument].default == parameter.default, argument


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"launcher": "submitit"}, "launcher='submitit' of {} starts collectors on a Slurm cluster; use 'mp'"),
        ({"launcher": "submitit_delayed"}, "On Kubernetes, `kubectl cfleet submit` creates a CollectorFleet"),
        ({"launcher": "ssh"}, "launcher='ssh' of {} is unknown; use 'mp' or 'ray'"),
        ({"backend": "smoke"}, "backend='smoke' of {}: torch.distributed has no backend of that name; use 'gloo'"),
        (
            {"slurm_kwargs": {"timeout_min": 10}},
            "slurm_kwargs of {} has no effect here: the fleet starts no Slurm jobs",
        ),
        ({"create_env_fn": make_chance}, "create_env_fn of {} is a function; pass a list with one for each collector"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(name: str, changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        made(name, **changes)
    assert sentence.format(name) in str(refused.value)


def test_a_policy_beside_its_factory_is_what_collectors_get_and_ports_are_taken_as_they_are() -> None:
    arguments = made("DistributedCollector", policy=(policy := nn.Linear(3, 2)), policy_factory=dict, tcp_port="10003")
    assert (arguments["policy"], arguments["policy_factory"]) == (policy, None)
    assert "tcp_port" not in arguments
    assert made("DistributedCollector", policy_factory=dict)["policy_factory"] is dict


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("backend", ["nccl", "mpi", "ucc"])
def test_a_backend_that_torch_lacks_or_that_goes_from_gpu_to_gpu_is_refused(
    name: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for has, sentence in (
        (False, f"the installed torch is built without it (torch.distributed.is_{backend}_available() is False)"),
        (
            True,
            "nccl needs a whole GPU for each process" if backend == "nccl" else "frames and weights are sent from CPU",
        ),
    ):
        monkeypatch.setitem(ours._BACKENDS, backend, lambda has=has: has)
        with pytest.raises(InvalidOption) as refused:
            made(name, backend=backend)
        assert f"backend='{backend}' of {name}: {sentence}" in str(refused.value)


def test_what_is_tensorpipes_goes_along_and_the_fleet_judges_it() -> None:
    given = {"visible_devices": ["cuda:0", "cuda:1"], "tensorpipe_options": {"rpc_timeout": 10_000}}
    arguments = made("RPCCollector", **given)
    assert {name: arguments[name] for name in given} == given
    FleetOptions(**arguments)
    with pytest.raises(InvalidOption, match="transport 'object_store' does not use TensorPipe"):
        FleetOptions(**made("RPCCollector", launcher="ray", tensorpipe_options={"rpc_timeout": 9}))


@pytest.mark.parametrize(
    ("name", "changes", "interval"),
    [
        ("DistributedCollector", {}, -1),
        ("DistributedCollector", {"update_interval": 3}, 3),
        ("DistributedCollector", {"max_weight_update_interval": 5}, 5),
        ("DistributedSyncCollector", {}, 1),
        ("DistributedSyncCollector", {"update_interval": 4}, 4),
        ("DistributedSyncCollector", {"max_weight_update_interval": 2}, 2),
        ("RPCCollector", {}, -1),
    ],
)
def test_how_often_weights_are_published(name: str, changes: dict[str, Any], interval: int) -> None:
    assert made(name, **changes)["max_weight_update_interval"] == interval


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"update_interval": 0}, "update_interval: 0 is too small; use at least 1"),
        ({"update_interval": 2, "max_weight_update_interval": 3}, "each decide when weights are published; pass"),
        ({"update_interval": 2, "update_after_each_batch": True}, "each decide when weights are published; pass"),
    ],
)
def test_intervals_that_contradict_each_other(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidOption, match=sentence):
        made("DistributedCollector", **changes)


def test_launchers_are_transports_and_the_sync_one_is_sync() -> None:
    assert made("DistributedSyncCollector")["sync"]
    assert not made("DistributedCollector")["sync"]
    assert made("DistributedCollector")["transport"] == "torch_distributed"
    assert made("RPCCollector")["transport"] == "rpc"
    assert made("RPCCollector", launcher="ray")["transport"] == "object_store"
    assert issubclass(ours.DistributedCollector, ours.FleetCollector)
    assert not issubclass(ours.DistributedCollector, Theirs)
