"""Fuzzes the tool with repositories that nobody would write, and judges its behaviour."""
