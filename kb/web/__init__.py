"""The page of `kb web`: HTTP in, one operation, its wire object out; what it looks like is in `static`."""
