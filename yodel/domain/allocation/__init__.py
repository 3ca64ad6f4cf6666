"""Decides which requests get containers, and where: the scheduler's decision as a pure function."""
