"""`kb ui`: one screen that searches as you type. Textual draws it; the session answers."""
