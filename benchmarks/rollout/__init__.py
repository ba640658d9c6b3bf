"""What a step costs: our loop, TorchRL's, and environment and policy alone."""
