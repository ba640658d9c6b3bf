"""From the arguments of FleetCollector to a plan and one configuration for each collector. Touches no Ray."""
