"""The gather thread of the driver: asks collectors, notes what they say, and makes batches of it."""
