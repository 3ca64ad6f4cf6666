"""Yodel."""
