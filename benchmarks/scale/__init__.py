"""What one event costs the driver, in fleets of 4 and of 512 collectors."""
