"""Over Ray: actors, and the object store. In the driver, but for `actor`, which is the collector's process."""
