"""Jinja templates and plain values in, text out; nothing that a template says is run as Python."""
