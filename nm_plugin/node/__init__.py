"""The node as a whole: what is watched on it."""
