"""The torch.distributed transport: each collector runs in a process, and a process group carries frames and weights."""
