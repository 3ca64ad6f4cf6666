"""Logs read for others: from this node's disks, and back from the remote directory."""
