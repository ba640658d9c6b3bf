"""Benchmark: hundreds of thousands of batches through one FleetCollector. It reports growing resources and speed."""
