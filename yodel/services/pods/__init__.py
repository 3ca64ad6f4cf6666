"""From a container's row to its pod and back."""
