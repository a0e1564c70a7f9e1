"""The state of the window without widgets; it uses QtCore only."""
