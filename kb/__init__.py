"""kb: one person's local knowledge base, in one SQLite file."""

__version__ = "0.1.0"
