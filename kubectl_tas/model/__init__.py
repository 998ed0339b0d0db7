"""Defines frozen models of what a repository can declare, and of the manifests that `render` writes."""
