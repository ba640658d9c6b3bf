"""Where batches go that nobody trains on: one format a file, behind one interface. On the driver's main thread."""
