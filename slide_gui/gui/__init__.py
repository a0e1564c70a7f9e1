"""The graphical user interface. Computations on the GUI thread take less time than one frame of the display."""
