"""Expands Jinja templates with plain values to text; executes nothing of a template as Python."""
