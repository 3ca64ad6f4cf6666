"""Hadoop RPC: what ApplicationMasters ask of the node, and what the node tells the ResourceManager."""
