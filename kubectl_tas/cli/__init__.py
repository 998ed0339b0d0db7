"""The command line: the only room that prints, asks the terminal and exits."""

import gc

gc.disable()  # a short-lived process that builds one large tree: collecting finds nothing to free

COLOURS = AUTO, ALWAYS, NEVER = "auto", "always", "never"
"""The values of ``--color``: when to use colours."""
