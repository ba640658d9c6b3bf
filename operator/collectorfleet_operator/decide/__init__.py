"""From what is known of a fleet to what to do and what to say. Pure: no client, no clock, no log."""
