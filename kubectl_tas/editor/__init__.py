"""What an editor asks of a repository while somebody types: findings, hovers, definitions, fixes."""
