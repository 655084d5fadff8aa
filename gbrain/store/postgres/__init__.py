"""The shared store on PostgreSQL: all SQL that is not SQLite's."""
