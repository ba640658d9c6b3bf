"""The same training with RayCollector and with FleetCollector: reward against the clock."""
