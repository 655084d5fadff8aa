"""gbrain: a personal knowledge brain in one SQLite file."""

__version__ = "0.1.0"
