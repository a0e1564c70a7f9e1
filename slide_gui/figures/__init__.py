"""Publication-quality figures drawn with matplotlib, for both the window and the command line."""
