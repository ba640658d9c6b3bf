"""What each fault costs: FleetCollector beside RayCollector, with proof of which weights made every frame."""
