"""The SQLite database of a store.

Contents:
    schema: The tables, records as they are stored, and finding damage by the checksums of rows.
    snapshot: Reads of one state.
    reads: Reads of given rows, of places, and of source documents; sentences and vectors as columns.
    transaction: Writes.
    filters: Metadata filters, compiled to SQL, and what their operators mean in Python.
    conditions: Joining of SQL conditions.

Access:
    database: `Database`: reading and writing one state, in one call or several; copies, closing and forks.
    connections: The connections to one database, each lent to one call, and what SQLite does with one.
    locks: What a call enters: locks for many readers or one writer, turns, and forks of the process.

Files:
    database_opening: Creating a database, and checking one before it is used.
    restoring: Replacing an index with a backup.
    database_file: The identity and the seal of the database's file, and the small files beside it.
    store_files: The names of all files, their checksums, and writing them completely or not at all.
"""
