"""Container logs and the node's REST API."""
