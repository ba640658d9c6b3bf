"""All I/O of the operator: kopf, the queue, the cache, the client, health. It carries out the plans of `decide`."""
