"""Computes the capacity that a node lends to batch work, by one formula, and explains it term by term.

Shared by the node agent, which computes it, and the ResourceManager, which publishes and explains it.
"""
