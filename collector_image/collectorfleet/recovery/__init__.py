"""What becomes of a lost collector, and how long a request may take: classes that answer and never act. Pure."""
