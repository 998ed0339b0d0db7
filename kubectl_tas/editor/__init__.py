"""Answers an editor about a repository while its user types: findings, completion, hovers, renames, fixes."""
