"""The node's web port: YARN's REST API, pages and container logs."""
