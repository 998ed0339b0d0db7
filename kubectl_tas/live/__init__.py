"""What a cluster says: read through kubectl, or from a file with the same JSON."""
