"""The state and the decisions of the gather thread. Pure: no thread, no clock, no Ray, no torch."""
