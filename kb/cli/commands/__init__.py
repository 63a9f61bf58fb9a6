"""One module a command; each is imported only when it runs."""
