"""Predicts where gangs would run, on nodes of a cluster or on invented nodes, and what KAI's scheduler does. Pure."""
