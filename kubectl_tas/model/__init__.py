"""Frozen data: what a repository can declare, and the manifests that come out of it."""
