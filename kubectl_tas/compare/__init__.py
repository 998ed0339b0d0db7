"""Two fleets, or a fleet and a cluster: what changes that must not, and what differs."""
