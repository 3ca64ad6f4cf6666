"""``yodel app`` and ``yodel node``: the command line over ``/api/v1``.

A client like any other: it knows the ResourceManager by its HTTP API and nothing else, and node agents and log servers
by YARN's REST.
"""
