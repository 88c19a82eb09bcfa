"""The SQLite database of a store.

Contents:
    schema: The tables, and records as they are stored.
    rows: The rows that are written for sentences.
    snapshot: Reads of one state.
    transaction: Writes.
    filters: Metadata filters, compiled to SQL.
    operators: What the operators of filters mean, in SQL and in Python.
    conditions: Joining of SQL conditions.
    json_nul: NUL characters in JSON.

Access:
    database: `Database`: who may read or write at the same time.
    leases: Reading with a connection, for one call or several.
    connections: The connections to one database.
    connection: One SQLite connection.
    locks: The lock for many readers or one writer.
    forking: Forks of a process with open stores.

Files:
    opening: Creating a database, and checking one before it is used.
    restoring: Replacing an index with a backup.
    damage: Finding damage, by the checksums of rows.
    database_file: The identity and the seal of the database's file.
    later_check: Checking a large file after it was opened.
    held_files: Files that are kept open beside SQLite.
    state_files: The small files beside the database.
    checksums: Checksums of files.
    files: Writing files completely or not at all.
"""
