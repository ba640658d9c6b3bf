"""All I/O of the operator: kopf, the queue, the cache, the client, health. Carries out what `decide` decides."""
