"""Work files and what they share in, findings and manifests out: each file is compiled by itself, once."""
