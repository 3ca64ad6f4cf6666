"""Giving back: what each queue should hold, and which containers go so that it can."""
