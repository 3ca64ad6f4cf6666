"""The ResourceManager's own pages."""
