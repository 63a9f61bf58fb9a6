"""`python -m kb`."""

from kb.cli.main import run

run()
