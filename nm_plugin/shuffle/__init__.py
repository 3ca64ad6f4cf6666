"""The ``mapreduce_shuffle`` auxiliary service: reducers fetch map outputs from this node over HTTP.

What goes over the wire is that of ``ShuffleHandler`` of Hadoop 3.5.0, byte for byte where clients look.  ``fetch`` is
the request, ``hashes`` its proof, ``spill_index`` and ``map_output`` find the bytes, ``conversation`` is HTTP without a
socket, ``transfer`` and ``server`` are the socket, ``jobs`` is what survives a restart, ``service`` puts them together.

Refuses: TLS shuffle (``mapreduce.shuffle.ssl.enabled``), and everything outside the map outputs of the job that asks.
"""
