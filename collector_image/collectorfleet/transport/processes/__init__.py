"""The parts that the torch.distributed and RPC transports share. Each collector runs in its own process."""
