"""Defines the operator's settings, one module for each subject."""
