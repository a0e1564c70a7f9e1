"""The graphical interface. The GUI thread runs no computation that takes longer than a frame of the display."""
