"""The graphical user interface. No computation on the GUI thread takes longer than one frame of the display."""
