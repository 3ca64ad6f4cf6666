"""Checks every request before a route sees it: callers, foreign pages, networks, bodies, the audit log.

filters      the chain itself: ``authentication``, ``csrf`` and ``own_pages``, tokens by ``op=`` (``token_operations``)
rim          one spelling of every path, the headers every answer carries, who reads and who writes
audited      a line for every change
compression  gzip; ``replay`` gives the same answer again while nothing has changed
bodies       bounded reading and parsing of request bodies (``xml_bodies``, ``body_room``, ``body_turns``)
"""
