"""Edits of the files themselves: text is spliced at the parser's marks, every other byte stays."""
