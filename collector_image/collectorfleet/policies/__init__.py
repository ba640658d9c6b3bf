"""What to do when something fails or shrinks: classes that answer and never act. Pure."""
