"""Routes, one module a resource; each module's ``ROUTES`` is what ``app`` mounts.

Handlers are plain functions of the request: nothing is parsed by a framework that Hadoop's clients would have to know.
"""
