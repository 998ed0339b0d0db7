"""Compares two fleets, or a fleet and a cluster, and finds differences and forbidden changes."""
