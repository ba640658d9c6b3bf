"""FleetCollector beside RayCollector: the same environments, policies and arguments, alternating in one run."""
