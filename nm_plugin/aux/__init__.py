"""Auxiliary services are asked by containers, or are programs that run next to the agent."""
