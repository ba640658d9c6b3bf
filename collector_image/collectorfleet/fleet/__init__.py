"""The part of the driver that runs on the consumer's thread: FleetCollector, options, weight snapshots and batches."""
