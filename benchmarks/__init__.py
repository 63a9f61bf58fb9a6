"""Measurements of kb, one a module: `python -m benchmarks NAME`. Nothing here is part of the installed package."""
