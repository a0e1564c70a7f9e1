"""Views of a fitted stack: rows of W, hidden representations, corrupted copies, explanation of one weight."""
