"""What this node can lend to best-effort work: measured once a second, computed by the policy, told with heartbeats."""
