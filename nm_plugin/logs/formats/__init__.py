"""Hadoop's formats of aggregated logs. Pure but for what is read from and written to."""
