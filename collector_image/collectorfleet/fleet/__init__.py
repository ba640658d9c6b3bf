"""The driver on the consumer's thread: FleetCollector, its options, snapshots of weights, and batches."""
