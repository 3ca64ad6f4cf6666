"""Turns a launch context into a running process: users, script, hand-over to the parked pod."""
