"""What has to hold between the options of a fleet."""
