"""Files in, a repository of checked documents out; every scalar knows its place."""
