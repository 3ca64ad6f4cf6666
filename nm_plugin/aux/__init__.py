"""Auxiliary services: those that are asked, and programs that run beside the agent."""
