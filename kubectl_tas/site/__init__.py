"""Makes a static site of a repository: one module for each subject of pages, and the pages as text."""
