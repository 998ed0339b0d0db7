"""The command line: the only place that prints, asks the terminal and exits."""

COLOURS = AUTO, ALWAYS, NEVER = "auto", "always", "never"
"""When to use colours."""
