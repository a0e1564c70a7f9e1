"""The state of the window. These modules contain no widgets and use only QtCore."""
