"""The stable JSON of every `--json` output, derived from the records of `kb.domain`, with its JSON Schemas.

`derive` makes JSON values. `schemas` and `arguments` load pydantic, which makes the JSON Schemas and validates input;
printing JSON does without it.
"""
