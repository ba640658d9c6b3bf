"""The gather thread of the driver: it sends requests to collectors, receives their messages, and makes batches."""
