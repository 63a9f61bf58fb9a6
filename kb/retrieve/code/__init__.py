"""Source code among what a search finds: by its names, ranked, shown."""
