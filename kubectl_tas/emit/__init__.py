"""Turns objects into text and writes files. Never leaves a half-written file, nor removes a file of anybody else."""
