"""One run: its specification, its computation and its result."""
