"""Write batches to disk in a fleet that only collects. Each format has a module. Use it on the driver's main thread."""
