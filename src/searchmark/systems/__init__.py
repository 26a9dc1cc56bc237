"""What is evaluated: the System protocol, one adapter a file."""
