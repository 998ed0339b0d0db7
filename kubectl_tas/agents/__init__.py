"""Answers AI agents about a repository before they commit: bounded answers of commands that write nothing."""
