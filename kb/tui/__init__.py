"""`kb ui`: what is typed becomes a search, one screen, by keys. Textual draws it; the session answers it."""
