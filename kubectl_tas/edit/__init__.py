"""Edits files in place: replaces text at the parser's marks, and keeps every other byte."""
