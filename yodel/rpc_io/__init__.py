"""Hadoop RPC on asyncio: the shell around ``yodel.hadoop_rpc``.

``dispatch`` routes calls to handlers, ``server`` listens, ``client`` calls.  ``proxy_users`` says who may speak for
whom, ``http_cookie`` remembers names on web ports; both are pure.  ``rest`` is what web ports share.
"""
