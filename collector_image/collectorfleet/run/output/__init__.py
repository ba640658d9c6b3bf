"""Write batches to disk in a fleet that only collects. Each format has a module. Use writers on the main thread."""
