"""Looks at what is wanted and what there is, and writes plans."""
