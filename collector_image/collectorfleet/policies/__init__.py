"""What to do when something fails, as classes that answer and never act."""
