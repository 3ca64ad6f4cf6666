"""Logs of this node's containers, brought to the remote directory and removed from there when they are old."""
