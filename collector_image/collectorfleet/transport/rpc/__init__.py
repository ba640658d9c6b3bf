"""Collectors in processes of this machine, which the driver and they themselves reach by ``torch.distributed.rpc``."""
