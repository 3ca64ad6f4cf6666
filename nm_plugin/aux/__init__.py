"""Auxiliary services: those that are asked, and programs that run next to the agent."""
