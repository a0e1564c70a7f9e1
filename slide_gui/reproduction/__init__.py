"""Every figure and table of the paper, all at once."""
