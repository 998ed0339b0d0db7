"""What is, against what should be."""
