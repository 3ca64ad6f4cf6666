"""What a node lends to batch work: measured on the node, computed by one formula, explained term by term.

Shared by the node agent, which computes it, and the ResourceManager, which publishes and explains it.
"""
