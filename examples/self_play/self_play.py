"""Two policies learn tic-tac-toe from games against each other. x begins. Each policy has its own learner shard.

    collectorfleet run examples/self_play.yaml     as a fleet; the manifest names functions of this file
    python examples/self_play/self_play.py         the same by hand, on your own Ray

Collectors play, and write the moves of each policy into its replay buffer. At the same time, learners sample from the
buffers. The target for the value of a move is the result of its game: 1 for a win, -1 for a loss, 0 for a draw.
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
    """Computes the value of each of the nine moves for the player to move, `[..., 9]`."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(18, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 9))

    def forward(self, board):
        mine, theirs = board == 1, board == 0
        seen = torch.cat([mine.flatten(-2), theirs.flatten(-2)], -1)
        return torch.tanh(self.net(seen.float()))


class Both(nn.Module):
    """The policy of the collectors. The player to move draws a random move, and better moves are more likely."""

    def __init__(self):
        super().__init__()
        self.x, self.o = Values(), Values()

    def values(self, board, mask, turn):
        found = torch.where(turn == 0, self.x(board), self.o(board))
        return found.masked_fill(~mask, -torch.inf)

    def forward(self, board, mask, turn):
        return torch.distributions.Categorical(logits=6 * self.values(board, mask, turn)).sample()


class Learner:
    """Learns the values of one player, in its own actor."""

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
    """Return each player's moves in games that ended in this rollout, with the result for this player.

    Runs in the collectors.
    """
    games, ends = frames["collector", "traj_ids"], frames["next", "done"].squeeze(-1)
    won = frames["next", "player0", "reward"] - frames["next", "player1", "reward"]  # 1: x won, -1: o won
    last = games[:, None] == games[ends]  # [frames, games that ended]
    for_x = (last * won.squeeze(-1)[ends]).sum(-1)
    turn, ended = frames["turn"].squeeze(-1), last.any(-1)
    found = frames.select("board", "action", ("collector", "weights_version"))
    found["outcome"] = torch.where(turn == 0, for_x, -for_x)
    return {player: found[ended & (turn == index)] for index, player in enumerate(PLAYERS)}


@torch.no_grad()
def against_random(policy, player, games=1000):
    """Return the fractions of games that `player` wins and loses with its best moves against random moves."""
    env = TicTacToeEnv()
    state = env.reset(TensorDict(batch_size=[games]))
    score, over = torch.zeros(games), torch.zeros(games, dtype=torch.bool)
    while not over.all():
        mask = state["mask"] | over[:, None]  # games continue after their end, and do not count
        best = policy.values(state["board"], mask, state["turn"]).argmax(-1)
        drawn = torch.multinomial(mask.float(), 1).squeeze(-1)
        state["action"] = torch.where(state["turn"].squeeze(-1) == player, best, drawn)
        state = env.step(state)["next"]
        won = (state["player0", "reward"] - state["player1", "reward"]).squeeze(-1)
        score += torch.where(over, 0, won if player == 0 else -won)
        over |= state["done"].squeeze(-1)
    return (score > 0).float().mean().item(), (score < 0).float().mean().item()


def train(collector, run, *, batch_size=4096):
    """Train both policies. Without `driver.train`, each policy also learns once after each batch."""
    learners = run.learners
    for _ in collector:  # yields None, because the frames are in the replay buffers
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
