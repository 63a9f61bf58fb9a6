"""Several questions in one: their parts, and the steps to an answer."""
