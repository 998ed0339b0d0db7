"""Fuzzers: repositories nobody would write in, what the tool does with them judged."""
