"""Hundreds of thousands of batches through one FleetCollector: what grows, and how fast it goes."""
