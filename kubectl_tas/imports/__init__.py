"""Imports from other systems: makes files of this tool, and lists what the files cannot express."""
