"""Where batches go that nobody trains on."""
