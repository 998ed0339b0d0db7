"""What is elsewhere in, files of this tool out, and what has no place in them."""
