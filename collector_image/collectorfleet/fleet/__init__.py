"""The consumer's thread of the driver: FleetCollector, its options, snapshots of weights, and batches."""
