"""Hadoop RPC without IO: frames, SASL, Writables and the state machine of either end of a connection.

Bytes go in and events come out; an answer goes in and bytes come out.  Nothing here knows sockets, clocks or
randomness; ``yodel.rpc_io`` is the asyncio shell around it.  Reading order: ``framing``, ``server_states``,
``server_connection``, ``client_connection``.
"""
