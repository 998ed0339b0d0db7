"""Compiles files of work to findings and manifests, each file once and by itself, with the context that all share."""
