"""The main window: commands, panel, palette, pages on a stack, and the session that it restores."""
