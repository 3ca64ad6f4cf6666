"""Protobuf messages to domain values and back, one module per family of records.  Pure; no IO."""
