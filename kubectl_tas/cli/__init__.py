"""The command line: the only place that prints, asks the terminal and exits."""
