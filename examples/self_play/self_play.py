"""Two policies learn tic-tac-toe from each other: x begins, o answers, each in a learner shard of its own.

    collectorfleet run examples/self_play.yaml     as a fleet; the manifest names what is in this file
    python examples/self_play/self_play.py         the same by hand, on a Ray of your own

Collectors play, and write the moves of each policy to its replay buffer themselves; learners sample beside it. Each
value is learned from how its game ended: 1 for a win, -1 for a loss, 0 for a draw.
"""

import argparse

import ray
import torch
from tensordict import TensorDict
from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.envs import TicTacToeEnv

from collectorfleet import FleetCollector, LearnerFeed, LearnerShards

PLAYERS = ("x", "o")


class Values(nn.Module):
    """How good each of the nine moves is for the player whose turn it is, `[..., 9]`."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(18, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 9))

    def forward(self, board):
        mine, theirs = board == 1, board == 0
        seen = torch.cat([mine.flatten(-2), theirs.flatten(-2)], -1)
        return torch.tanh(self.net(seen.float()))


class Both(nn.Module):
    """The policy that collectors play with: whose turn it is draws a move, better ones more often."""

    def __init__(self):
        super().__init__()
        self.x, self.o = Values(), Values()

    def values(self, board, mask, turn):
        found = torch.where(turn == 0, self.x(board), self.o(board))
        return found.masked_fill(~mask, -torch.inf)

    def forward(self, board, mask, turn):
        return torch.distributions.Categorical(logits=6 * self.values(board, mask, turn)).sample()


class Learner:
    """One player's values, in an actor of its own."""

    def __init__(self, lr):
        self.values = Values()
        self.adam = torch.optim.Adam(self.values.parameters(), lr)

    def learn(self, moves):
        for some in moves.split(256):
            chosen = self.values(some["board"]).gather(-1, some["action"][:, None]).squeeze(-1)
            loss = (chosen - some["outcome"]).square().mean()
            self.adam.zero_grad()
            loss.backward()
            self.adam.step()
        return loss.item()

    def weights(self):
        return self.values.state_dict()

    def state_dict(self):
        return {"values": self.values.state_dict(), "adam": self.adam.state_dict()}

    def load_state_dict(self, state):
        self.values.load_state_dict(state["values"])
        self.adam.load_state_dict(state["adam"])


def make_env():
    return TicTacToeEnv()


def make_policy():
    return TensorDictModule(Both(), in_keys=["board", "mask", "turn"], out_keys=["action"])


def moves_of_each(frames):
    """The moves of games that ended in this rollout, with how they ended for who made them. Runs in the collectors."""
    games, ends = frames["collector", "traj_ids"], frames["next", "done"].squeeze(-1)
    won = frames["next", "player0", "reward"] - frames["next", "player1", "reward"]  # 1: by x, -1: by o
    last = games[:, None] == games[ends]  # [frames, games that ended]
    for_x = (last * won.squeeze(-1)[ends]).sum(-1)
    turn, ended = frames["turn"].squeeze(-1), last.any(-1)
    found = frames.select("board", "action", ("collector", "weights_version"))
    found["outcome"] = torch.where(turn == 0, for_x, -for_x)
    return {player: found[ended & (turn == index)] for index, player in enumerate(PLAYERS)}


@torch.no_grad()
def against_random(policy, player, games=1000):
    """Parts of the games that the player, who makes its best move, wins and loses against random moves."""
    env = TicTacToeEnv()
    state = env.reset(TensorDict(batch_size=[games]))
    score, over = torch.zeros(games), torch.zeros(games, dtype=torch.bool)
    while not over.all():
        mask = state["mask"] | over[:, None]  # what is over is played on, and not counted
        best = policy.values(state["board"], mask, state["turn"]).argmax(-1)
        drawn = torch.multinomial(mask.float(), 1).squeeze(-1)
        state["action"] = torch.where(state["turn"].squeeze(-1) == player, best, drawn)
        state = env.step(state)["next"]
        won = (state["player0", "reward"] - state["player1", "reward"]).squeeze(-1)
        score += torch.where(over, 0, won if player == 0 else -won)
        over |= state["done"].squeeze(-1)
    return (score > 0).float().mean().item(), (score < 0).float().mean().item()


def train(collector, run, *, batch_size=4096):
    """What the manifest names; without it each policy learns once after each batch, too."""
    learners = run.learners
    for _ in collector:  # None: frames are where they are learned from
        shards = learners.shards
        ray.get([learner.learn.remote(replay.sample.remote(player, batch_size)) for player, learner, replay in shards])
        learners.feed.publish(collector)
    for index, player in enumerate(PLAYERS):
        wins, losses = against_random(collector.policy.module, index)
        run.report(**{f"{player}_wins": wins, f"{player}_loses": losses})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=60_000)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    ray.init(address="local", num_cpus=4, include_dashboard=False)
    shards = LearnerShards(
        Learner,
        len(PLAYERS),
        config={"lr": args.lr},
        replay_config={"capacity": 20_000},
        policy_cpus=0.5,
        replay_cpus=0.5,
    )
    for player in PLAYERS:
        shards.add_policy(player)
    policy = make_policy()
    feed = LearnerFeed(shards, {player: getattr(policy.module, player) for player in PLAYERS}, moves_of_each)
    collector = FleetCollector(
        make_env,
        policy,
        frames_per_batch=500,
        total_frames=args.frames,
        num_collectors=2,
        replay_buffer=feed.replay_buffer,
    )
    for number, _ in enumerate(collector, 1):
        ray.get([learner.learn.remote(replay.sample.remote(player, 4096)) for player, learner, replay in shards])
        feed.publish(collector)
        if number % 20 == 0:
            print(f"{500 * number} frames", *(f"{name} {it.published}" for name, it in feed.status(collector).items()))
    for index, player in enumerate(PLAYERS):
        wins, losses = against_random(policy.module, index)
        print(f"{player} against random moves: wins {wins:.1%}, loses {losses:.1%}")
    shards.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
