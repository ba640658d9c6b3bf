"""Collectors in processes of their own, and a process group of torch.distributed that carries frames and weights."""
