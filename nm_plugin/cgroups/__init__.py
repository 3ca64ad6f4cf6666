"""The kubelet's cgroups: where they are, what they count, and what batch pods are held to.  ``writer`` alone writes."""
