"""Hadoop RPC faces of the RM: protobuf in, service calls, protobuf out.  No rule lives here."""
