"""Reads what a cluster says, through kubectl or from a file with the same JSON."""
