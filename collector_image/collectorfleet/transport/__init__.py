"""How requests, weights and batches travel between the driver and its collectors."""
