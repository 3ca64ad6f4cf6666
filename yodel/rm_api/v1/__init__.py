"""The product's own HTTP API, ``/api/v1``: YARN's entities with the pods behind them, typed and described by OpenAPI.

It is a FastAPI application of its own, mounted into the web side: who calls and who may see what is decided as for
``/ws/v1``, errors are problem details (RFC 9457), lists are paged by cursor, and no caller chooses an answer's size.
It refuses what YARN's own interfaces are for: submission, administration.
"""
