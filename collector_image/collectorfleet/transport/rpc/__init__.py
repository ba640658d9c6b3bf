"""Collectors in processes of this machine. Driver and collectors call each other by ``torch.distributed.rpc``."""
