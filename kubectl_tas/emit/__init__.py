"""Turns objects into text and writes files. Never leaves half-written files, nor removes files of other authors."""
