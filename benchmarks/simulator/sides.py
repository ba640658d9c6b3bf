"""The sides that step the cart-poles. Each side makes one rollout after the other and yields the name of its loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.modules import OneHotCategorical, ProbabilisticActor

from benchmarks.simulator.cart_pole import CartPoles, UndeclaredCartPoles, begin, ends, move
from collectorfleet.actor.build import build
from collectorfleet.actor.config import CollectorConfig, RolloutLoop
from collectorfleet.messages import Request

Side = Callable[[int, int, str], Iterator[str]]


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))


def policy() -> ProbabilisticActor:
    computing = TensorDictModule(network(), ["observation"], ["logits"])
    return ProbabilisticActor(computing, ["logits"], distribution_class=OneHotCategorical, return_log_prob=True)


def torchrls(count: int, steps: int, device: str, **options: Any) -> Iterator[str]:
    """Make rollouts with TorchRL's collector."""
    collector = Collector(
        CartPoles(count, device),
        policy().to(device),
        frames_per_batch=count * steps,
        total_frames=-1,
        return_same_td=True,
        **{"device": device, **options},
    )
    for _ in collector:
        yield "TorchRL"


def ours(
    count: int, steps: int, device: str, kind: Callable[[int, str], Any] = CartPoles, **options: Any
) -> Iterator[str]:
    """Make rollouts with a fleet's collector in this process, without a fleet."""
    frames = count * steps
    config = CollectorConfig(
        partial(kind, count, device),
        None,
        frames,
        policy_factory=lambda: policy().to(device),
        rollout=RolloutLoop.FAST,
        options={"device": device, **options},
    )
    runner = build(config, 0)
    number = 0
    while True:
        number += 1
        runner.run(Request(number, frames, 0))
        yield runner.loop


class Bare:
    """A loop of bare tensor functions for environment and policy. Each rollout is written into the same tensors."""

    def __init__(self, count: int, steps: int, device: str) -> None:
        self._network = network().to(device)
        self._state = torch.zeros(count, 4, device=device)
        self._steps = torch.zeros(count, 1, dtype=torch.int64, device=device)
        self._length = steps
        one, two, four = (torch.zeros(count, steps, width, device=device) for width in (1, 2, 4))
        self._over = {
            key: torch.zeros(count, steps, 1, dtype=torch.bool, device=device)
            for key in ("done", "terminated", "truncated", "next done", "next terminated", "next truncated")
        }
        self._kept = {
            "observation": four,
            "next observation": four.clone(),
            "logits": two,
            "next reward": one,
            "action": two.long(),
            "action_log_prob": torch.zeros(count, steps, device=device),
        }
        begin(torch.ones_like(self._steps, dtype=torch.bool), self._state, self._steps)

    @torch.no_grad()
    def rollout(self) -> None:
        none = torch.zeros_like(self._over["done"][:, 0])
        for step in range(self._length):
            seen = self._state.clone()
            logits = self._network(seen)
            logits = logits - logits.logsumexp(-1, keepdim=True)
            chances = logits.softmax(-1)
            drawn = (chances / torch.empty_like(chances).exponential_(1)).argmax(-1, keepdim=True)
            action = torch.zeros_like(logits, dtype=torch.int64).scatter_(-1, drawn, 1)
            score = logits.gather(-1, drawn).squeeze(-1)
            self._state.copy_(move(self._state, action))
            self._steps.add_(1)
            terminated, truncated = ends(self._state, self._steps)
            done = terminated | truncated
            self._keep(step, observation=seen, logits=logits, action=action, action_log_prob=score)
            self._keep(step, **{"next observation": self._state, "next reward": torch.ones_like(score[:, None])})
            found = {"done": none, "terminated": none, "truncated": none, "next done": done}
            self._keep_ends(step, **found, **{"next terminated": terminated, "next truncated": truncated})
            begin(done, self._state, self._steps)

    def _keep(self, step: int, **found: Tensor) -> None:
        for key, tensor in found.items():
            self._kept[key][:, step].copy_(tensor)

    def _keep_ends(self, step: int, **found: Tensor) -> None:
        for key, tensor in found.items():
            self._over[key][:, step].copy_(tensor)


def bare(count: int, steps: int, device: str) -> Iterator[str]:
    loop = Bare(count, steps, device)
    while True:
        loop.rollout()
        yield "bare"


def recorded(count: int, steps: int, device: str) -> Iterator[str]:
    """Make rollouts with the bare loop, with all steps of a rollout in one CUDA graph."""
    loop = Bare(count, steps, device)
    loop.rollout()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loop.rollout()
    while True:
        graph.replay()
        yield "bare, one CUDA graph"


TORCHRL, OURS, BARE = "TorchRL", "ours", "bare"
OURS_RECORDED, BARE_RECORDED = "ours, as a CUDA graph", "bare, as a CUDA graph"
SIDES: dict[str, Side] = {
    TORCHRL: torchrls,
    OURS: ours,
    "ours, undeclared": partial(ours, kind=UndeclaredCartPoles),
    BARE: bare,
    OURS_RECORDED: partial(ours, cudagraph_policy=True),
    BARE_RECORDED: recorded,
    "TorchRL, stored on the CPU": partial(torchrls, storing_device="cpu"),
    "ours, stored on the CPU": partial(ours, storing_device="cpu", cudagraph_policy=True),
}
NEEDS_CUDA = {OURS_RECORDED, BARE_RECORDED}
