"""Implements the ports to the machine itself: its clock and its users."""
