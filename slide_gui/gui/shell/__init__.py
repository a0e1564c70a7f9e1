"""The main window: commands, panel, command palette, stack of pages, and the storage of sessions."""
