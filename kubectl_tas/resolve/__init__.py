"""Names become things: a repository in, a fleet out whose every reference is followed or listed as dangling."""
