"""What others may see of the cluster: reads of what is committed, never a change."""
