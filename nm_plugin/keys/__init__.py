"""The ResourceManager's keys, and what they say of tokens."""
