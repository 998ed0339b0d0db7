"""Diagnostics in, text out: one file a format, all of them pure."""
