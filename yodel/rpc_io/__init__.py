"""Hadoop RPC on asyncio: the shell around ``yodel.hadoop_rpc``.

``dispatch`` routes calls to handlers, ``server`` listens, ``client`` calls.
"""
