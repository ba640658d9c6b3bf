"""PPO on a CartPole that runs in its own process, as game engines and robot simulators do.

`python -m simulator PORT` is the simulator. It serves one client over TCP, with one JSON object per line. Each
collector starts a simulator, and the collector's environment is the client. Only functions import torch, because the
simulator does not need torch.
"""

import json
import socket
import sys

import gymnasium


def serve(port):
    """Run the simulator: step CartPole for one client."""
    env = gymnasium.make("CartPole-v1")
    with socket.create_server(("127.0.0.1", port)) as server:
        print(f"serving on port {port}", flush=True)
        client, _ = server.accept()
        with client, client.makefile("rw") as lines:
            for line in lines:
                asked = json.loads(line)
                if "action" in asked:
                    observation, reward, terminated, truncated, _ = env.step(asked["action"])
                else:
                    observation, _ = env.reset(seed=asked["seed"])
                    reward, terminated, truncated = 0.0, False, False
                said = {"observation": observation.tolist(), "reward": reward, "ends": [terminated, truncated]}
                lines.write(json.dumps(said) + "\n")
                lines.flush()


class Client(gymnasium.Env):
    """CartPole in the simulator at `address`, such as 127.0.0.1:40123."""

    observation_space = gymnasium.make("CartPole-v1").observation_space
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, address):
        host, _, port = address.partition(":")
        self.connection = socket.create_connection((host, int(port)))
        self.lines = self.connection.makefile("rw")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return self.ask(seed=seed)[0], {}

    def step(self, action):
        observation, reward, (terminated, truncated) = self.ask(action=int(action))
        return observation, reward, terminated, truncated, {}

    def ask(self, **asked):
        self.lines.write(json.dumps(asked) + "\n")
        self.lines.flush()
        line = self.lines.readline()
        if not line:
            raise ConnectionError("the simulator has closed the connection")
        said = json.loads(line)
        return self.to_array(said["observation"]), said["reward"], said["ends"]

    def to_array(self, numbers):
        import numpy as np

        return np.array(numbers, dtype=self.observation_space.dtype)

    def close(self):
        self.lines.close()
        self.connection.close()


def make_env(process):
    """Return the environment. `process` maps each port of the collector's simulator to its address."""
    from torchrl.envs import GymWrapper, InitTracker, TransformedEnv

    return TransformedEnv(GymWrapper(Client(process["game"]), categorical_action_encoding=True), InitTracker())


def mlp(outputs):
    from torch import nn

    return nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, outputs))


def make_policy():
    """Return the policy. The driver calls this function once, and the collectors get the policy's weights."""
    import torch
    from tensordict.nn import TensorDictModule
    from torchrl.modules import ProbabilisticActor

    return ProbabilisticActor(
        TensorDictModule(mlp(2), in_keys=["observation"], out_keys=["logits"]),
        in_keys=["logits"],
        distribution_class=torch.distributions.Categorical,
        return_log_prob=True,
    )


def train(collector, run, *, lr=2e-3, epochs=8, minibatch=256):
    """Train as long as there are batches."""
    import torch
    from torchrl.modules import ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    torch.set_num_threads(1)  # the networks are too small for several threads
    critic = ValueOperator(mlp(1), in_keys=["observation"])
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    ppo = ClipPPOLoss(collector.policy, critic, clip_epsilon=0.2, entropy_bonus=False, critic_coeff=0.5)
    adam = torch.optim.Adam(ppo.parameters(), lr=lr, eps=1e-5)
    run.keep(critic=critic, optimizer=adam)

    for batch in collector:
        with torch.no_grad():
            advantage(batch)
        frames = batch.reshape(-1)
        for _ in range(epochs):
            for index in torch.randperm(len(frames)).split(minibatch):
                losses = ppo(frames[index])
                loss = losses["loss_objective"] + losses["loss_critic"]
                adam.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(ppo.parameters(), 0.5)
                adam.step()
        run.report(loss=loss.item())


if __name__ == "__main__":
    serve(int(sys.argv[1]))
