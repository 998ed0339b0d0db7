"""Follows every reference in a repository. The result is a fleet, with a list of all dangling names."""
