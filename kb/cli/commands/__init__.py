"""Commands, grouped by what they do; a module is imported when one of its commands is called (`COMMANDS`)."""
