"""The store's adapters: one for SQL databases (SQLite, PostgreSQL) and its twin in memory.

SQLAlchemy is imported here and in ``migrations`` only.  What a store promises is written in ``yodel.ports.store``.
"""
