"""Names that are no sentences, as the words they are made of: of files, and in source code."""
