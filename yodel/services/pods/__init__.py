"""Connects a container's row and its pod."""
