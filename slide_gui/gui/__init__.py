"""The graphical user interface. Computations on the GUI thread must take less time than one frame of the display."""
