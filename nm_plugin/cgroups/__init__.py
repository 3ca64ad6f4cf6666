"""The kubelet's cgroups, read: where they are, and what they count.  Nothing here writes."""
