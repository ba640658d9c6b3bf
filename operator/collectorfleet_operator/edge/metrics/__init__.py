"""What Prometheus is told about the operator. Its fleets' own numbers come from their drivers."""
