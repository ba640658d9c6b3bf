"""What a restarted driver goes on from: folders on disk, and when they are written."""
