"""The database's versions: Alembic scripts, run by ``yodel migrate`` (``yodel.store.engine.migrate``).

A released script is never changed.  A new one expands (adds what the next version needs while the present one still
runs); what is no longer used is removed one release later.  The tables are described in ``yodel.store.tables``; a test
compares them with what the scripts make.
"""
