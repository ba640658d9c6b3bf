"""A loop over batches that trains nothing: the place for an algorithm of your own."""


def train(collector, run):
    """Report the mean reward of the episodes that ended in each batch."""
    # A batch has the shape [collectors, environments, time]. The request for the next batch publishes the policy's new
    # weights.
    for batch in collector:
        rewards = batch["next", "episode_reward"][batch["next", "done"]]
        if len(rewards):
            run.report(reward=rewards.mean().item())
        # Train `collector.policy` on the batch here.
