"""`python -m kb`."""

from kb.cli.entry import run

run()
