"""Draws pools, workflows, gangs and reports: one format-free picture, and one module for each output format."""
