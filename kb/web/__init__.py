"""The page of `kb web`: a request calls one operation and gets its wire object; the page itself is in `static`."""
