"""One picture of a workflow, then one file for each format that shows it."""
