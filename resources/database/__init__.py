"""The database: engine, clock, schema, guarded transitions and statements by table group.

SQLite and PostgreSQL, one suite. Read `schema/` first, then `transitions.py`.
"""
