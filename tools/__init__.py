"""Commands of the repository for those who work on it; not in the wheel."""
