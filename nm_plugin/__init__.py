"""Node agent."""
