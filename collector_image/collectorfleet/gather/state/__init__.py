"""What the gather thread knows and decides. Pure: no thread, no clock, no Ray, no torch."""
