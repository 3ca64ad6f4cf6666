"""One file a version, in order of their numbers."""
