"""What a replay buffer in a checkpoint costs."""
