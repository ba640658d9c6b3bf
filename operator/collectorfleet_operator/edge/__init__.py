"""All I/O of the operator: kopf, the queue, the cache, the client, health. `edge` carries out the plans of `decide`."""
