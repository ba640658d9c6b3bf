"""What is due, who plays which episodes, and what came of them. Pure: no thread, no clock, no torch."""
