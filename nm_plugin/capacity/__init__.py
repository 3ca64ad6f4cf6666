"""Computes what this node can lend to best-effort work: measured once a second, computed by the policy, and reported
with heartbeats."""
