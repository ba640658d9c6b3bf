"""What evaluation costs the training beside it."""
