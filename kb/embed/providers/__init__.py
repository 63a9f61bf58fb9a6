"""Encoders that somebody else runs, or that come from a hub or a plugin."""
