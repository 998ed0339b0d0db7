"""A static site of a repository: what each page says, one file a subject, and the pages as text."""
