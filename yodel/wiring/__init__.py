"""Builds the processes: adapters are made here and nowhere else."""
