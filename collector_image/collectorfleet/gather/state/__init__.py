"""The state and the decisions of the gather thread. No threads, no clock, no Ray, no torch."""
