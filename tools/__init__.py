"""Holds commands for developers of the repository. The wheel does not contain them."""
