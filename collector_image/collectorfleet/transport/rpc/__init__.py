"""Collectors in processes of this machine. They and the driver call each other by ``torch.distributed.rpc``."""
