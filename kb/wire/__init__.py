"""The stable JSON of every `--json` output: one file per schema, `docs/wire-schema/v1` generated from them.

The classes are typed dictionaries, so that printing JSON costs a cold command nothing; pydantic reads the same
classes to generate the schemas and to validate what comes in (`kb.wire.schemas`).
"""
