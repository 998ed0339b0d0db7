"""Keeps computed results between runs, under the digest of all their inputs."""
