"""Paper-quality figures on matplotlib, for the window and the command line alike."""
