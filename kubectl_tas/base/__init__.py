"""Serves every room: findings and failures, paths, processes, YAML, and what is imported when it is needed."""
