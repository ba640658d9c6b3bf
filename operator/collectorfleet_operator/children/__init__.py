"""What a fleet consists of: one builder for each child. Pure: a fleet in, a manifest out, nothing sent."""
