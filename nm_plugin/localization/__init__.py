"""Bringing a container's files to the node: what is needed, from where, into which cache."""
