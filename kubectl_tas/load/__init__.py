"""Reads files into a repository of checked documents, and keeps the place of every value."""
