"""Predicts where KAI places gangs on real or invented nodes. Pure: the package does no input or output."""
