"""Containers to pods and back.  Pure mapping: no clock, no IO, no logging."""
