"""Reads the committed state of the cluster for others; never changes it."""
